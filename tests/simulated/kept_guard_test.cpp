// SPDX-License-Identifier: Apache-2.0
/// A guard that is kept while the same lock object is asked for the lock again.

#include <latchkey/testing/simulated_ensemble.hpp>

#include <latchkey/fair_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>

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

TEST_CASE_TEMPLATE("a caller that has not released what it has lost is told so when it locks again", Lock, mutex,
                   fair_mutex, shared_mutex, multi_lock) {
  simulated_ensemble ensemble;
  client owner{ensemble};
  auto lock = lock_of<Lock>(owner);
  const auto held = lock.acquire();
  ensemble.expire_session(owner);
  std::string said;
  try {
    (void)lock.acquire();
  } catch (const std::system_error& refused) {
    said = refused.what();
  }
  CAPTURE(said);
  CHECK(said.find("has lost the lock and not released it since") != std::string::npos);
}

}  // namespace latchkey::testing
