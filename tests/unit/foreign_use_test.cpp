// SPDX-License-Identifier: Apache-2.0
/// A path that is used in two ways, which do not exclude each other.

#include <doctest/doctest.h>

#include "log_lines.hpp"
#include "support/permit_world.hpp"

namespace latchkey::testing {

TEST_SUITE("foreign use") {
  TEST_CASE("a path that is used as a lock and as a semaphore is logged, once, whichever comes first") {
    struct lock_use {
      lock_family family;
      contender_kind kind;
    };
    for (const auto [family, kind] : {lock_use{lock_family::turns, contender_kind::lock},
                                      {lock_family::fair, contender_kind::lock},
                                      {lock_family::shared, contender_kind::read},
                                      {lock_family::shared, contender_kind::write},
                                      {lock_family::election, contender_kind::latch},
                                      {lock_family::group, contender_kind::lock}}) {
      for (const bool lock_first : {true, false}) {
        for (const bool one_client : {true, false}) {
          CAPTURE(to_string(family));
          CAPTURE(lock_first);
          CAPTURE(one_client);
          const log_lines lines{log_level::warning};
          permit_world w;
          simulated_lock lock{one_client ? w.one : w.two, "/s", {.family = family, .members = {{"/s"}}}};
          const auto take_lock = [&, kind = kind] {
            REQUIRE(w.calm_world::ends(lock.enter(1, kind), outcome::granted));
          };
          if (lock_first) take_lock();
          CHECK(lines.all().empty());
          auto held = w.take(w.ours);
          if (!lock_first) take_lock();
          w.settle();
          CHECK(lines.with("used as a lock and as a semaphore").size() == 1);
          for (int i = 0; i < 2; ++i) {
            w.ours.leave(held);
            w.settle();
            held = w.take(w.ours);
          }
          w.settle();
          CHECK(lines.with("used as a lock and as a semaphore").size() == 1);
          w.ours.leave(held);
        }
      }
    }
  }

  TEST_CASE("locks below a lock that are called as the folders of a semaphore are no semaphore") {
    const log_lines lines{log_level::warning};
    permit_world w;
    simulated_lock locks{w.one, "/s/locks", {lock_family::turns}};
    simulated_lock leases{w.two, "/s/leases", {lock_family::turns}};
    simulated_lock above{w.one, "/s", {lock_family::turns}};
    for (auto* const each : {&locks, &leases, &above})
      REQUIRE(w.calm_world::ends(each->enter(1, contender_kind::lock), outcome::granted));
    w.settle();
    CHECK(lines.all().empty());
    leases.leave(1, contender_kind::lock);
    w.settle();
    above.leave(1, contender_kind::lock);
    w.settle();
    REQUIRE(w.calm_world::ends(above.enter(1, contender_kind::lock), outcome::granted));
    w.settle();
    CHECK(lines.all().empty());
  }
}

}  // namespace latchkey::testing
