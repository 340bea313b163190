// SPDX-License-Identifier: Apache-2.0
/// Contenders for locks of latchkey, driven by lines: "NAME COMMAND ARGUMENTS" is answered with "NAME ANSWER". A name
/// that is new is a new contender. Ends with its input.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "latchkey_locks.hpp"

namespace latchkey::testing {
namespace {

void say(const std::string& line) {
  static std::mutex one_line;
  const std::scoped_lock lock{one_line};
  std::cout << line << std::endl;
}

/// One contender: a client and a thread of its own, which does one command after the other.
class contender {
 public:
  explicit contender(std::string name) : name_{std::move(name)}, thread_{[this](std::stop_token stop) { run(stop); }} {}

  void tell(const std::string& command) {
    if (command == "stop") {
      stopped_ = true;
      return;
    }
    const std::scoped_lock lock{mutex_};
    commands_.push_back(command);
    arrived_.notify_all();
  }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      std::unique_lock lock{mutex_};
      if (!arrived_.wait(lock, stop, [&] { return !commands_.empty(); })) return;
      const auto command = std::move(commands_.front());
      commands_.pop_front();
      lock.unlock();
      std::string answer;
      try {
        std::istringstream words{command};
        answer = obey(words);
      } catch (const std::exception& failure) {
        answer = std::string{"failed "} + failure.what();
      }
      say(name_ + " " + answer);
    }
  }

  std::string obey(std::istream& words) {
    std::string command;
    words >> command;
    if (command == "open") return open(words);
    if (command == "take") {
      choose(words).lock();
      return held();
    }
    if (command == "try") {
      choose(words);
      std::int64_t timeout = 0;
      words >> timeout;
      return now_->try_lock_for(std::chrono::milliseconds{timeout}) ? held() : "busy";
    }
    if (command == "downgrade") {
      now_ = &now_->downgrade();
      return held();
    }
    if (command == "release") {
      now_->unlock();
      return "released";
    }
    if (command == "believes") return now_->held() ? "held" : "not held";
    if (command == "rounds") return rounds(words);
    if (command == "close") {
      locks_.clear();
      client_.reset();
      return "closed";
    }
    throw std::invalid_argument{"no command " + command};
  }

  std::string open(std::istream& words) {
    std::string connect;
    std::int64_t session_timeout = 0;
    words >> connect >> session_timeout;
    client_options options;
    options.session_timeout = std::chrono::milliseconds{session_timeout};
    options.label = name_;
    options.peers.emplace();
    words >> options.session_file;  // or nothing
    client_.emplace(connect, options);
    static_cast<void>(client_->wait_for_connection(std::chrono::minutes{1}));
    return "open " + std::to_string(client_->session_id());
  }

  some_lock& choose(std::istream& words) {
    std::string kind;
    std::string path;
    words >> kind >> path;
    return choose(kind, path);
  }

  /// An object a path, as a service has them.
  some_lock& choose(const std::string& kind, const std::string& path) {
    auto& lock = locks_[kind + path];
    if (!lock) lock = make_lock(*client_, kind, path);
    now_ = lock.get();
    return *now_;
  }

  std::string held() { return "held " + std::to_string(now_->held().fence().czxid); }

  std::string rounds(std::istream& words) {
    std::string path;
    std::string file;
    std::string kinds;
    int count = 0;
    std::int64_t hold = 0;
    words >> path >> count >> file >> hold >> kinds;
    std::vector<std::string> cycle;
    std::istringstream parts{kinds};
    for (std::string kind; std::getline(parts, kind, ',');) cycle.push_back(kind);
    history_file out{file};
    int done = 0;
    for (; done < count && !stopped_; ++done)
      round(out, cycle[done % cycle.size()], path, std::chrono::microseconds{hold});
    return "done " + std::to_string(done);
  }

  void round(history_file& out, const std::string& kind, const std::string& path, std::chrono::microseconds hold) {
    const bool down = kind == "downgrade";
    choose(down ? "write" : kind, path).lock();
    const bool kept = stay(out, down ? "write" : kind, hold);
    if (down && kept && downgrade_unless_lost()) stay(out, "downgraded", hold);
    now_->unlock();
  }

  bool downgrade_unless_lost() {
    try {
      now_ = &now_->downgrade();
      return true;
    } catch (const error& why) {
      if (why.code() != errc::lock_lost) throw;
      return false;
    }
  }

  /// Holds for a while, and writes down until when it knew that it did. @returns whether it still did at the end.
  bool stay(history_file& out, const std::string& kind, std::chrono::microseconds hold) {
    const auto grant = now_->held();
    const auto granted = history_file::now();
    if (!grant) return false;  // lost before its holder could look
    const bool shared = kind == "read" || kind == "downgraded";
    const record mine{name_, shared || kind == "write" ? kind : "mutex", client_->session_id(), grant.fence().czxid};
    out.add("granted", mine, granted);
    auto known = granted;
    do {
      const auto looked = history_file::now();
      if (!grant) {
        out.add("lost", mine, known);
        return false;
      }
      known = looked;
      if (known < granted + std::chrono::nanoseconds{hold}.count())
        std::this_thread::sleep_for(std::chrono::microseconds{200});
    } while (known < granted + std::chrono::nanoseconds{hold}.count());
    out.add("released", mine, known);
    return true;
  }

  std::string name_;
  std::optional<client> client_;
  std::map<std::string, std::unique_ptr<some_lock>> locks_;
  some_lock* now_ = nullptr;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<std::string> commands_;
  std::jthread thread_;
};

}  // namespace
}  // namespace latchkey::testing

int main() {
  std::map<std::string, latchkey::testing::contender> contenders;
  for (std::string line; std::getline(std::cin, line);) {
    const auto space = line.find(' ');
    const auto name = line.substr(0, space);
    contenders.try_emplace(name, name).first->second.tell(line.substr(space + 1));
  }
  std::_Exit(0);  // sessions end by their timeouts: nothing that still waits may hold us up
}
