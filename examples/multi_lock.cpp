// SPDX-License-Identifier: Apache-2.0
// Two accounts that are locked together: no order of their names can deadlock.

#include <latchkey/multi_lock.hpp>

#include <iostream>
#include <string>
#include <thread>

#include "with_connect_string.hpp"

namespace {

int savings = 1000;  // each protected by the lock of its path
int current = 0;

void move(latchkey::client& client, const std::string& from, const std::string& to, int& source, int& target) {
  latchkey::multi_lock accounts{client, {{from}, {to}}};  // one transaction: both, or neither
  for (int i = 0; i < 100; ++i) {
    const latchkey::guard held = accounts.acquire();
    source -= 1;
    target += 1;
    if (i == 0) std::cout << from << " -> " << to << " under " << to_string(held.fence()) << '\n';
  }
}

bool example(const std::string& connect_string) {
  latchkey::client ours{connect_string};
  latchkey::client theirs{connect_string};
  std::thread there{[&] { move(ours, "/accounts/savings", "/accounts/current", savings, current); }};
  std::thread back{[&] { move(theirs, "/accounts/current", "/accounts/savings", current, savings); }};
  there.join();
  back.join();
  std::cout << savings << " + " << current << '\n';
  return savings == 1000 && current == 0;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
