// SPDX-License-Identifier: Apache-2.0
// One process of many that wait for one fair_mutex. Commands, a line each; each is answered with one line of JSON:
//   lock        takes the lock, and keeps it
//   add N       N fibers take a place each; answered when they have it
//   unlock      lets the lock go
//   drain       waits until each fiber has had the lock; says when the first and the last one got it, in nanoseconds of
//               CLOCK_MONOTONIC, which processes share

#include <fmt/format.h>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/ticket.hpp>

#include "contestant.hpp"

namespace {

using namespace std::chrono_literals;

long long now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(bench::clock::now().time_since_epoch()).count();
}

class waiter {
 public:
  waiter(const std::string& host, const std::string& path, latchkey::hand_off how, std::string session_file)
      : client_{host, options_for(how, std::move(session_file))}, lock_{client_, path, {.how = how}} {}

  /// @returns the answer, as JSON.
  std::string obey(const std::string& line) {
    std::istringstream words{line};
    std::string command;
    std::size_t count = 0;
    words >> command >> count;
    if (command == "lock") {
      lock_.lock();
      return "{}";
    }
    if (command == "add") {
      add(count);
      return "{}";
    }
    if (command == "unlock") {
      lock_.unlock();
      return "{}";
    }
    if (command == "drain") {
      drain();
      return fmt::format(R"({{"first": {}, "last": {}}})", first_, last_);
    }
    throw std::invalid_argument{"unknown command: " + line};
  }

 private:
  static latchkey::client_options options_for(latchkey::hand_off how, std::string session_file) {
    latchkey::client_options options;
    options.session_file = std::move(session_file);
    if (how != latchkey::hand_off::ensemble) options.peers.emplace();
    return options;
  }

  void add(std::size_t count) {
    if (queued_ == 0) first_ = 0;
    const auto wanted = queued_ + count;
    for (std::size_t i = 0; i < count; ++i) {
      fibers_.emplace_back([this] {
        auto place = lock_.enqueue();
        ++queued_;
        place.wait();
        last_ = now_ns();
        if (first_ == 0) first_ = last_;
        lock_.unlock();
      });
    }
    while (queued_ < wanted) boost::this_fiber::sleep_for(200us);
    boost::this_fiber::sleep_for(2ms);  // what it still had to ask has been sent
  }

  void drain() {
    for (auto& fiber : fibers_) fiber.join();
    fibers_.clear();
    queued_ = 0;
  }

  latchkey::client client_;
  latchkey::fair_mutex lock_;
  std::vector<boost::fibers::fiber> fibers_;
  std::size_t queued_ = 0;
  long long first_ = 0;
  long long last_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> arguments{argv + 1, argv + argc};
    const bool direct = std::erase(arguments, "--direct") != 0;
    if (arguments.size() == 2) arguments.insert(arguments.end(), {"--session-file", ""});
    if (arguments.size() != 4 || arguments[2] != "--session-file")
      throw std::invalid_argument{"usage: bench_waiter HOST:PORT PATH [--direct] [--session-file FILE]"};
    waiter self{arguments[0], arguments[1], direct ? latchkey::hand_off::direct : latchkey::hand_off::ensemble,
                arguments[3]};
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << self.obey(line) << std::endl;
    }
    return 0;
  } catch (const std::exception& error) {
    std::cout << "{\"error\": \"" << error.what() << "\"}" << std::endl;
    return 1;
  }
}
