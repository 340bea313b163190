// SPDX-License-Identifier: Apache-2.0
// The ways to take a lock that do not wait for ever.

#include <latchkey/mutex.hpp>

#include <chrono>
#include <iostream>
#include <mutex>
#include <stop_token>
#include <thread>

#include "with_connect_string.hpp"

using namespace std::chrono_literals;

namespace {

int taken = 0;

void run(const char* how) {
  ++taken;
  std::cout << "taken: " << how << '\n';
}

void try_each(latchkey::mutex& nightly, std::stop_token shutdown) {
  if (const std::unique_lock lock{nightly, std::try_to_lock}) run("it was free");
  if (const std::unique_lock lock{nightly, 500ms}) run("it was free, or became so in time");
  if (nightly.lock(shutdown)) {  // until a stop is requested
    const std::lock_guard guard{nightly, std::adopt_lock};
    run("before the shutdown");
  }
}

bool example(const std::string& connect_string) {
  latchkey::client ours{connect_string};
  latchkey::mutex nightly{ours, "/locks/try_and_timeout"};

  std::cout << "The lock is free:\n";
  try_each(nightly, {});

  std::cout << "Another client has it, and we are asked to stop after a second:\n";
  latchkey::client another{connect_string};
  latchkey::mutex theirs{another, "/locks/try_and_timeout"};
  const std::lock_guard guard{theirs};
  const std::jthread waiter{[&](std::stop_token shutdown) { try_each(nightly, std::move(shutdown)); }};
  std::this_thread::sleep_for(1s);
  return taken == 3;
}  // the destructor of `waiter` asks to stop

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
