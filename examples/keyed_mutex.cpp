// SPDX-License-Identifier: Apache-2.0
// A lock for each account: there are millions, and few are in use at a time.

#include <latchkey/keyed_mutex.hpp>

#include <array>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>

#include "with_connect_string.hpp"

using namespace std::chrono_literals;

namespace {

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string};
  latchkey::keyed_mutex accounts{client, "/accounts"};

  if (const auto held = accounts.try_lock_for("alice@example.com", 2s)) {
    std::cout << "one account, token " << to_string(held.fence()) << '\n';
  }

  // Both or none: no deadlock, whatever the order of the names.
  const auto transfer = accounts.lock_all({"bob/savings", "alice@example.com"});
  std::cout << "two accounts, token " << to_string(transfer.fence()) << '\n';

  // One that is free.
  const std::array<std::string_view, 3> due{"alice@example.com", "bob/savings", "carol"};
  const auto next = accounts.try_lock_any(due);
  if (next) std::cout << "next: " << due[next.index] << '\n';

  return transfer && next && due[next.index] == "carol";
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
