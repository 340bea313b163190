// SPDX-License-Identifier: Apache-2.0
/// What tests/debugger/check.sh looks at with gdb: a program with a lock object of each kind, which aborts.

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include <latchkey/any_lock.hpp>
#include <latchkey/election.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/robust_mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/testing/simulated_ensemble.hpp>

// The private types: this file is compiled with debug information, the library perhaps without. They are those of these
// headers, and of two files that the linker finds here first.
#include "recipes/joint/joint_lock.hpp"
#include "recipes/keyed/keyed_mutex.cpp"
#include "recipes/reentrant_mutex.cpp"
#include "recipes/robust/robust_line.hpp"
#include "recipes/semaphore/permit_line.hpp"
#include "recipes/shared/shared_state.hpp"

#include "recipes/fair/fair_places.hpp"

using namespace latchkey;
using namespace std::chrono_literals;

namespace {

client_options without_reports() {
  client_options options;
  options.report_waits_after = 0s;
  return options;
}

}  // namespace

/// Memory in which an object was, or never has been.
template <class T>
struct remains {
  alignas(T) std::array<unsigned char, sizeof(T)> bytes;

  remains() { bytes.fill(0x5a); }
};

struct scene {
  testing::simulated_ensemble ensemble;
  client here{ensemble, without_reports()};
  client away{"127.0.0.1:1/billing"};
  client closed{ensemble};

  mutex nightly{here, "/locks/nightly"};
  mutex unused{here, "/locks/unused"};
  mutex late{away, "/locks/late"};
  reentrant_mutex tree{here, "/locks/tree"};
  shared_mutex config{here, "/locks/config"};
  fair_mutex press{here, "/locks/press"};
  robust_mutex ledger{here, "/locks/ledger"};
  semaphore pool{here, "/locks/pool", 5};
  keyed_mutex orders{here, "/locks/orders"};
  multi_lock pair{here, {"/locks/a", "/locks/b"}};
  any_lock either{here, {"/locks/c", "/locks/d"}};
  election chief{here, "/locks/chief"};

  guard moved_from, permits, one_more, order, page, leadership, reading;
  grant none, of_nightly, of_ledger;
  fencing_token token{0x1234, 5};
  ticket in_line, empty;

  remains<mutex> destroyed, corrupt;
  remains<client> destroyed_client, corrupt_client;
};

scene* shown = nullptr;

namespace {

/// @returns once so many calls of `whose` wait.
void await_waiting(const client& whose, std::uint64_t count) {
  const auto waiting = [&] {
    std::uint64_t sum = 0;
    for (const auto& each : whose.metrics().locks) sum += each.waiting;
    return sum;
  };
  while (waiting() != count) std::this_thread::sleep_for(1ms);
}

template <class Lock>
void wait_on_a_thread(Lock& lock) {
  std::thread{[&lock] { lock.lock(); }}.detach();
}

}  // namespace

int main() {
  auto* const it = shown = new scene;
  it->closed.close();

  it->nightly.lock();
  it->of_nightly = it->nightly.held();
  it->tree.lock();
  it->tree.lock();
  it->reading = it->config.acquire_shared();
  it->page = it->press.acquire();
  it->in_line = it->press.enqueue();
  it->permits = it->pool.acquire(2);
  it->one_more = it->pool.acquire();
  it->order = it->orders.lock("4711");
  it->pair.lock();
  it->either.lock();
  it->either.unlock();
  it->moved_from = it->chief.acquire();
  it->leadership = std::move(it->moved_from);
  it->ledger.lock();
  it->of_ledger = it->ledger.held();
  if (!it->ensemble.delete_node("/locks/ledger/" + it->ensemble.children("/locks/ledger").front())) return 1;
  if (!it->of_ledger.wait_for_end(30s)) return 1;

  it->ensemble.advance(3s);
  for (int i = 0; i < 2; ++i) wait_on_a_thread(it->nightly);
  wait_on_a_thread(it->config);
  wait_on_a_thread(it->late);
  await_waiting(it->here, 3);
  await_waiting(it->away, 1);
  // At last: nothing has used their memory again.
  std::destroy_at(new (it->destroyed_client.bytes.data()) client{it->ensemble});
  std::destroy_at(new (it->destroyed.bytes.data()) mutex{it->here, "/locks/destroyed"});
  std::abort();
}
