// SPDX-License-Identifier: Apache-2.0
// 10 000 items behind 20 locks: each customer takes whichever is free, so none waits for a lock of all items.

#include <latchkey/any_lock.hpp>

#include <array>
#include <atomic>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "with_connect_string.hpp"

namespace {

constexpr int shelves = 20;
std::array<int, shelves> items;  // of each shelf; protected by its lock
std::atomic<int> sold{0};
std::atomic<bool> shared_a_shelf{false};
std::array<std::atomic<int>, shelves> customers_at{};

/// Each asks at 16 shelves, the most for one `any_lock`, beginning with another one.
std::vector<std::string> shelves_from(int first) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < latchkey::any_lock::most_paths; ++i)
    paths.push_back("/shelves/" + std::to_string((first + static_cast<int>(i)) % shelves));
  return paths;
}

void buy(latchkey::client& shop, int customer, int count) {
  latchkey::any_lock shelf{shop, shelves_from(customer)};
  for (int i = 0; i < count; ++i) {
    const latchkey::guard held = shelf.acquire();  // waits only while all of them are taken
    const auto mine = (static_cast<std::size_t>(customer) + shelf.index().value()) % shelves;
    if (++customers_at[mine] != 1) shared_a_shelf = true;
    if (items[mine] > 0) {
      --items[mine];
      ++sold;
    }
    --customers_at[mine];
  }
}

bool example(const std::string& connect_string) {
  items.fill(10'000 / shelves);
  std::vector<std::unique_ptr<latchkey::client>> shops;
  for (int i = 0; i < 4; ++i) shops.push_back(std::make_unique<latchkey::client>(connect_string));
  std::vector<std::thread> customers;
  for (int i = 0; i < 24; ++i) customers.emplace_back([&, i] { buy(*shops[static_cast<std::size_t>(i) % 4], i, 20); });
  for (auto& each : customers) each.join();
  const int left = std::accumulate(items.begin(), items.end(), 0);
  std::cout << sold << " sold, " << left << " left\n";
  return sold == 24 * 20 && left == 10'000 - sold && !shared_a_shelf;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
