// SPDX-License-Identifier: Apache-2.0
// Data that is kept in ZooKeeper, written only while the lock is held.

#include <latchkey/mutex.hpp>
#include <latchkey/transaction.hpp>

#include <iostream>
#include <string>

#include "with_connect_string.hpp"

namespace {

/// Takes one from the stock for this order: once, however often it is called.
bool take_one(latchkey::client& client, latchkey::mutex& stock, const std::string& order) {
  const auto held = stock.acquire();
  if (latchkey::read(client, "/stock/orders-" + order).exists) return true;
  const auto left = latchkey::read(client, "/stock/masks");
  if (!left.exists || left.data == "0") return false;
  latchkey::transaction sale{client, held.grant()};
  sale.once("/stock/orders-" + order);
  sale.set("/stock/masks", std::to_string(std::stoi(left.data) - 1), left.version);
  const auto sold = sale.commit_and_release();  // data and lock in one request
  if (!sold) std::cout << "not sold: " << to_string(sold) << '\n';
  return static_cast<bool>(sold);
}

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string};
  latchkey::mutex stock{client, "/locks/stock"};
  {
    const auto held = stock.acquire();
    latchkey::transaction setup{client, held.grant()};
    if (!setup.create("/stock").create("/stock/masks", "3").commit()) return false;
  }
  for (const auto* order : {"1001", "1002", "1002"}) {  // the second one is repeated
    if (!take_one(client, stock, order)) return false;
  }
  const auto left = latchkey::read(client, "/stock/masks");
  std::cout << left.data << " left\n";
  return left.data == "1";
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
