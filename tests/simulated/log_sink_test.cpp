// SPDX-License-Identifier: Apache-2.0
/// A log sink that does what it must not.

#include <latchkey/log.hpp>
#include <latchkey/mutex.hpp>

#include <atomic>
#include <string>
#include <string_view>
#include <system_error>

#include <doctest/doctest.h>

#include <latchkey/testing/simulated_ensemble.hpp>

#include "callers.hpp"

namespace latchkey::testing {

TEST_CASE("a log sink that calls latchkey is refused, and hangs nothing") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/a"};
  auto held = lock.acquire();
  std::atomic<int> refused{0};
  set_log_sink([&](log_level, std::string_view) {
    try {
      static_cast<void>(lock.try_lock());
    } catch (const std::system_error& deadlock) {
      if (deadlock.code() == std::errc::resource_deadlock_would_occur &&
          std::string{deadlock.what()}.find("a log sink called latchkey") == 0) {
        ++refused;
      }
    }
  });
  ensemble.expire_session(owner);
  set_log_sink({});
  CHECK(refused > 0);
  held.release();
  CHECK(lock.try_lock_for(30s));
  lock.unlock();
}

TEST_CASE("a log sink that lets the refusal out loses its line only") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/a"};
  auto held = lock.acquire();
  set_log_sink([&](log_level, std::string_view) { lock.lock(); });
  ensemble.expire_session(owner);
  set_log_sink({});
  held.release();
  CHECK(lock.try_lock_for(30s));
  lock.unlock();
}

}  // namespace latchkey::testing
