// SPDX-License-Identifier: Apache-2.0
/// The option `max_hold`: a second client gets the lock while the first still works.

#include <atomic>
#include <shared_mutex>

#include <doctest/doctest.h>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/shared_mutex.hpp>

#include "support/overlap.hpp"

namespace latchkey::testing {
namespace {

constexpr auto longest = 300ms;

/// Counts the locks that are reported as held for too long.
client_options watched_by(std::atomic<int>& count) {
  auto options = quick(20s);
  options.observer = [&count](const client_event& event) {
    if (event.what == client_event::kind::lost && event.reason == loss_reason::held_too_long) ++count;
  };
  return options;
}

}  // namespace

TEST_SUITE("max hold") {
  TEST_CASE_TEMPLATE("a client that works for too long knows before the next one is let in", Lock, mutex, fair_mutex,
                     reentrant_mutex, shared_mutex) {
    const auto path = fresh_path();
    std::atomic<int> reported = 0;
    client first{servers().connect_string(), watched_by(reported)};
    client second{servers().connect_string(), quick(20s)};
    Lock lock{first, path, {.max_hold = longest}};
    Lock other{second, path};
    on_threads all;
    lock.lock();
    const auto since = boottime_clock::now();
    const auto held = lock.held();
    const auto stop = held.stop_token();
    const watchman eye{held};
    boottime_clock::time_point granted;
    all.start([&] {
      REQUIRE(other.try_lock_for(patience()));
      granted = boottime_clock::now();
    });
    all.join();
    REQUIRE(eventually([&] { return eye.seen_lost(); }));
    CHECK(eye.last_held() < granted);
    CHECK(granted - since > longest / 2);
    CHECK(held.loss() == loss_reason::held_too_long);
    CHECK(eventually([&] { return stop.stop_requested() && reported == 1; }));
    CHECK(queued(path, 1));
    lock.unlock();
    CHECK_FALSE(lock.try_lock());
  }

  TEST_CASE("a reader that reads for too long lets the writer in") {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick(20s)};
    client second{servers().connect_string(), quick(20s)};
    shared_mutex lock{first, path, {.max_hold = longest}};
    shared_mutex other{second, path};
    const std::shared_lock reading{lock};
    const auto held = lock.held_shared();
    REQUIRE(other.try_lock_for(patience()));
    CHECK_FALSE(held);
    CHECK(held.loss() == loss_reason::held_too_long);
    other.unlock();
    CHECK(queued(path, 0));
  }

  TEST_CASE("the time of a reentrant mutex counts from its outermost lock") {
    client owner{servers().connect_string(), quick(20s)};
    reentrant_mutex lock{owner, fresh_path(), {.max_hold = longest}};
    lock.lock();
    const auto since = boottime_clock::now();
    const auto held = lock.held();
    std::size_t depth = 1;
    try {
      for (; boottime_clock::now() < since + patience(); ++depth) {
        lock.lock();
        pause();
      }
    } catch (const error& lost) {
      CHECK(lost.code() == errc::lock_lost);
    }
    CHECK(held.loss() == loss_reason::held_too_long);
    CHECK(lock.depth() == depth);
    while (lock.depth() > 0) lock.unlock();
    CHECK(lock.try_lock_for(patience()));
    lock.unlock();
  }
}
}  // namespace latchkey::testing
