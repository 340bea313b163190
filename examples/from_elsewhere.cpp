// SPDX-License-Identifier: Apache-2.0
// The code of the pages in from/, for those who know another library.

#include "with_connect_string.hpp"

#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/transaction.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <string>

namespace {

using namespace std::chrono_literals;

void bill(const std::stop_token& stop) {
  if (!stop.stop_requested()) std::cout << "billed under a lock\n";
}

void store(latchkey::fencing_token token, const std::string& what) {
  std::cout << what << " is stored with token " << to_string(token) << '\n';
}

void as_with_curator(latchkey::client& client) {
  latchkey::reentrant_mutex lock{client, "/locks/nightly"};
  if (auto held = lock.try_acquire_for(30s)) {  // acquire(30, TimeUnit.SECONDS)
    bill(held.stop_token());                    // in place of a ConnectionStateListener
  }                                             // release()
}

void as_with_redisson(latchkey::client& client) {
  latchkey::mutex lock{client, "/locks/order-17", {.max_hold = 10s}};
  if (auto held = lock.try_acquire_for(2s)) {  // tryLock(2, 10, TimeUnit.SECONDS)
    store(held.fence(), "order 17");           // which refuses tokens smaller than the largest it has seen
  }
}

bool as_with_etcd(latchkey::client& client) {
  latchkey::mutex lock{client, "/locks/config"};
  const auto held = lock.acquire();
  latchkey::transaction change{client, held.grant()};  // Txn().If(m.IsOwner()).Then(OpPut(...))
  change.set("/config/primary", "host3");
  const auto changed = change.commit();
  return static_cast<bool>(changed);
}

}  // namespace

int main(int argc, char** argv) {
  return with_connect_string(argc, argv, [](const std::string& connect_string) {
    latchkey::client client{connect_string};
    as_with_curator(client);
    as_with_redisson(client);
    std::cout << (as_with_etcd(client) ? "changed\n" : "not changed: there is no /config/primary\n");
    return true;
  });
}
