// SPDX-License-Identifier: Apache-2.0
// Work that ends when its lock is lost.

#include <latchkey/mutex.hpp>

#include <chrono>
#include <future>
#include <iostream>
#include <stop_token>
#include <thread>

#include "with_connect_string.hpp"

using namespace std::chrono_literals;

namespace {

std::promise<void> half_done;

bool bill_everyone(std::stop_token stop) {
  for (int customer = 1; customer <= 600; ++customer) {
    if (stop.stop_requested()) return false;
    if (customer == 10) half_done.set_value();
    std::this_thread::sleep_for(50ms);
  }
  return true;
}

void report(latchkey::loss_reason why) {
  std::cout << "stopped half-way, the lock is lost: " << to_string(why) << '\n';
}

bool bill_at_night(latchkey::mutex& nightly) {
  auto held = nightly.acquire();
  const bool finished = bill_everyone(held.stop_token());  // is asked to stop when the lock is lost
  if (const auto why = held.grant().loss()) report(*why);
  return finished;
}

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string};
  latchkey::mutex nightly{client, "/locks/stop_when_lost"};

  // The simplest way to lose a lock: another thread closes the client.
  const std::jthread other{[&] {
    half_done.get_future().wait();
    client.close();
  }};
  return !bill_at_night(nightly);
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
