// SPDX-License-Identifier: Apache-2.0
/// A guard that is kept while the same lock object is asked for the lock again.

#include <latchkey/testing/simulated_ensemble.hpp>

#include <latchkey/fair_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/transaction.hpp>

#include <string>
#include <system_error>
#include <type_traits>

#include <doctest/doctest.h>

#include "callers.hpp"
#include "log_lines.hpp"

namespace latchkey::testing {
namespace {

template <class Lock>
Lock lock_of(client& owner) {
  if constexpr (std::is_same_v<Lock, multi_lock>) {
    return Lock{owner, {{"/locks/a"}, {"/locks/b"}}};
  } else if constexpr (std::is_same_v<Lock, semaphore>) {
    return Lock{owner, "/locks/a", 1};
  } else {
    return Lock{owner, "/locks/a"};
  }
}

/// Then the lock has been released, but not the guard.
void commit_and_release(client& owner, const grant& held) {
  transaction last{owner, held};
  last.create("/done");
  REQUIRE(last.commit_and_release());
}

/// A call waits for what `held` holds, or has lost, until a line with `words` is logged.
template <class Lock>
void wait_until_logged(simulated_ensemble& ensemble, client& owner, Lock& lock, guard& held, const std::string& words) {
  const log_lines log{log_level::warning};
  auto waiting = on_threads::start([&] {
    const auto again = lock.acquire();
    return static_cast<bool>(again);
  });
  while (owner.metrics().locks.at(0).waiting == 0) {
  }
  ensemble.advance(3s);
  CHECK(log.wait_for(words, 30s));
  CAPTURE(log.all().size());
  held.release();
  CHECK(waiting.get());
}

constexpr auto* is_kept = "that is held through the same lock object";
constexpr auto* is_lost = "that was lost through the same lock object, and not released since";
constexpr auto* is_released = "that was released by a transaction through the same lock object, but not unlocked since";

template <class Lock>
bool is_taken(Lock& lock) {
  const auto tried = lock.try_acquire();
  return static_cast<bool>(tried);
}

}  // namespace

TEST_CASE_TEMPLATE("a long wait for a guard of the same lock object says so, also after a loss", Lock, mutex,
                   fair_mutex, shared_mutex, multi_lock, semaphore) {
  simulated_ensemble ensemble;
  client owner{ensemble, {.report_waits_after = 1s}};
  auto lock = lock_of<Lock>(owner);
  auto held = lock.acquire();
  SUBCASE("held") { wait_until_logged(ensemble, owner, lock, held, is_kept); }
  SUBCASE("lost") {
    ensemble.expire_session(owner);
    CHECK_FALSE(held);
    wait_until_logged(ensemble, owner, lock, held, is_lost);
  }
}

TEST_CASE_TEMPLATE("a long wait for a guard whose lock was released by a transaction says so", Lock, mutex,
                   fair_mutex) {
  simulated_ensemble ensemble;
  client owner{ensemble, {.report_waits_after = 1s}};
  Lock lock{owner, "/locks/a"};
  auto held = lock.acquire();
  commit_and_release(owner, held.grant());
  wait_until_logged(ensemble, owner, lock, held, is_released);
}

/// Tries, less than a minute apart, are logged with `words` after one minute and after two.
template <class Lock>
void check_rare_tries(simulated_ensemble& ensemble, Lock& lock, const std::string& words) {
  const log_lines log{log_level::warning};
  CHECK_FALSE(is_taken(lock));
  ensemble.advance(59s);
  CHECK_FALSE(is_taken(lock));
  CHECK(log.all().empty());
  for (int i = 0; i < 4; ++i) {
    ensemble.advance(59s);
    CHECK_FALSE(is_taken(lock));
  }
  CHECK(log.with("tries keep failing for a lock " + words).size() == 2);
  CHECK(log.all().size() == 2);
}

TEST_CASE_TEMPLATE("tries beside a guard that was lost and is kept are told, however rare they are", Lock, mutex,
                   fair_mutex, shared_mutex, multi_lock, semaphore) {
  simulated_ensemble ensemble;
  client owner{ensemble, {.report_waits_after = 1min}};
  auto lock = lock_of<Lock>(owner);
  auto held = lock.acquire();
  ensemble.expire_session(owner);
  check_rare_tries(ensemble, lock, is_lost);
  held.release();
  CHECK(is_taken(lock));
}

TEST_CASE_TEMPLATE("so are those beside a guard whose lock was released by a transaction", Lock, mutex, fair_mutex) {
  simulated_ensemble ensemble;
  client owner{ensemble, {.report_waits_after = 1min}};
  Lock lock{owner, "/locks/a"};
  auto held = lock.acquire();
  commit_and_release(owner, held.grant());
  check_rare_tries(ensemble, lock, is_released);
  held.release();
  CHECK(is_taken(lock));
}

TEST_CASE("a long wait of a writer for a reader of the same lock object says so, also after a loss") {
  simulated_ensemble ensemble;
  client owner{ensemble, {.report_waits_after = 1s}};
  shared_mutex lock{owner, "/locks/a"};
  auto held = lock.acquire_shared();
  SUBCASE("held") { wait_until_logged(ensemble, owner, lock, held, is_kept); }
  SUBCASE("lost") {
    ensemble.expire_session(owner);
    wait_until_logged(ensemble, owner, lock, held, is_lost);
  }
}

/// @returns what the caller of `lock` is told.
template <class Lock>
std::string refusal_of(Lock& lock) {
  try {
    (void)lock.acquire();
    return {};
  } catch (const std::system_error& refused) {
    return refused.what();
  }
}

TEST_CASE_TEMPLATE("a caller that has not released what it has lost is told so when it locks again", Lock, mutex,
                   fair_mutex, shared_mutex, multi_lock) {
  simulated_ensemble ensemble;
  client owner{ensemble};
  auto lock = lock_of<Lock>(owner);
  const auto held = lock.acquire();
  ensemble.expire_session(owner);
  const auto said = refusal_of(lock);
  CAPTURE(said);
  CHECK(said.find("has lost the lock and not released it since") != std::string::npos);
}

TEST_CASE_TEMPLATE("a caller that has released its lock by a transaction is told so when it locks again", Lock, mutex,
                   fair_mutex, reentrant_mutex) {
  simulated_ensemble ensemble;
  client owner{ensemble};
  Lock lock{owner, "/locks/a"};
  lock.lock();
  commit_and_release(owner, lock.held());
  const auto said = refusal_of(lock);
  CAPTURE(said);
  CHECK(said.find("lost while") == std::string::npos);
  CHECK(said.find("has lost") == std::string::npos);
  CHECK(said.find("by a transaction") != std::string::npos);
  lock.unlock();
  CHECK(is_taken(lock));
}

TEST_CASE("once only moved guards of a reentrant mutex are left, the fiber that took it waits as any other") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  reentrant_mutex lock{owner, "/a"};
  guard kept;
  SUBCASE("the outer level was a lock") {
    lock.lock();
    kept = lock.acquire();
    lock.unlock();
  }
  SUBCASE("the outer level was a guard") {
    const auto outer = lock.acquire();
    kept = lock.acquire();
  }
  SUBCASE("the outer guard is moved") {
    auto outer = lock.acquire();
    const auto inner = lock.acquire();
    kept = std::move(outer);
  }
  SUBCASE("both are moved, and one of them twice") {
    auto outer = lock.acquire();
    auto inner = lock.acquire();
    const auto moved = std::move(inner);
    auto on_its_way = std::move(outer);
    kept = std::move(on_its_way);
  }
  REQUIRE(kept);
  CHECK(lock.depth() == 0);
  CHECK_FALSE(lock.try_acquire());
  kept.release();
  const auto again = lock.try_acquire();
  CHECK(again);
  CHECK(lock.depth() == 1);
}

}  // namespace latchkey::testing
