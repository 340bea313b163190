// SPDX-License-Identifier: Apache-2.0
// Who has the lock, who waits, and asking the holder to let go.

#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <thread>

#include "with_connect_string.hpp"

using namespace std::chrono_literals;

namespace {

std::atomic<int> pages = 0;

void copy_a_page() {
  std::this_thread::sleep_for(20ms);
  ++pages;
}

void back_up(latchkey::mutex& nightly) {
  const std::lock_guard guard{nightly};
  const latchkey::grant grant = nightly.held();
  while (!grant.asked_to_release()) copy_a_page();  // until another process asks for the lock
}

bool try_or_tell(latchkey::client& client, latchkey::mutex& nightly) {
  if (const std::unique_lock lock{nightly, std::try_to_lock}) return true;
  const latchkey::queue_snapshot queue{client, nightly.path()};
  for (const auto& holder : queue.holders()) {
    std::cout << holder.label << " on " << holder.host << " has it, process " << holder.pid << '\n';
  }
  std::cout << queue.waiters().size() << " wait for it\n";
  return false;
}

bool example(const std::string& connect_string) {
  latchkey::client_options options;
  options.label = "backup";
  latchkey::client another{connect_string, options};
  latchkey::mutex theirs{another, "/locks/who_holds_it"};
  const std::jthread holder{[&] { back_up(theirs); }};
  while (pages == 0) std::this_thread::sleep_for(10ms);

  latchkey::client ours{connect_string};
  latchkey::mutex nightly{ours, "/locks/who_holds_it"};
  const bool was_free = try_or_tell(ours, nightly);

  std::cout << "asked to release it: " << latchkey::ask_to_release(ours, nightly.path()) << '\n';
  const bool released = nightly.try_lock_for(10s);
  if (released) nightly.unlock();
  std::cout << "the backup " << (released ? "let go" : "goes on") << " after " << pages << " pages\n";
  return !was_free && released;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
