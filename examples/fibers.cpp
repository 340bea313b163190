// SPDX-License-Identifier: Apache-2.0
// A lock shared by the fibers of two threads.

#include <latchkey/mutex.hpp>

#include <boost/fiber/fiber.hpp>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

#include "with_connect_string.hpp"

namespace {

int count = 0;  // protected by the lock

void run_fibers(latchkey::mutex& nightly) {
  std::vector<boost::fibers::fiber> fibers;
  for (int i = 0; i < 10; ++i) {
    fibers.emplace_back([&nightly] {
      const std::lock_guard guard{nightly};  // suspends this fiber; the others of its thread go on
      ++count;
    });
  }
  for (auto& fiber : fibers) fiber.join();
}

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string};
  latchkey::mutex nightly{client, "/locks/fibers"};

  std::thread another{[&] { run_fibers(nightly); }};
  run_fibers(nightly);
  another.join();

  std::cout << count << " fibers have had the lock, one after another\n";
  return count == 20;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
