// SPDX-License-Identifier: Apache-2.0
/// A quota that leaves room for one entry: who comes back deletes before it creates.

#include <doctest/doctest.h>

#include <string>

#include "support/group_world.hpp"
#include "support/permit_world.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

TEST_SUITE("room for one") {
  TEST_CASE("who comes back at once has the lock again where there is room for one entry only") {
    for (const auto family : {lock_family::turns, lock_family::fair}) {
      CAPTURE(to_string(family));
      calm_world w;
      w.ensemble.create("/q");
      w.ensemble.limit_nodes("/q", 2);
      simulated_lock lock{w.one, "/q", {family}};
      fencing_token last{};
      for (int i = 0; i < 6; ++i) {
        const auto call = lock.enter(1, mode);
        const bool granted = w.ends(call, outcome::granted);
        CAPTURE(i);
        CAPTURE((call->why ? call->why->what : std::string{}));
        REQUIRE(granted);
        CHECK(lock.current(1, mode).fence() > last);
        last = lock.current(1, mode).fence();
        lock.leave(1, mode);
        if (i % 2 == 1) w.time.run_for(1ms);
      }
      CHECK(w.queued(0));
    }
  }

  TEST_CASE("a try is not refused for want of room that its own former entry takes") {
    calm_world w;
    w.ensemble.create("/q");
    w.ensemble.limit_nodes("/q", 2);
    simulated_lock lock{w.one, "/q", {lock_family::turns}};
    for (int i = 0; i < 6; ++i) {
      REQUIRE(w.ends(lock.enter(1, mode, detail::at_once), outcome::granted));
      lock.leave(1, mode);
    }
    CHECK(w.queued(0));
  }

  TEST_CASE("several locks are taken again where there is room for one entry in each") {
    group_world w;
    for (const auto& path : w.paths) w.ensemble.limit_nodes(path, 2);
    simulated_group all{w.one, w.members(), group_goal::all};
    for (int i = 0; i < 4; ++i) {
      REQUIRE(w.ends(all.enter(), outcome::granted));
      all.leave();
    }
  }

  TEST_CASE("permits are taken again where there is room for no more than they need") {
    permit_world w{1};
    w.ours.leave(w.take(w.ours));
    REQUIRE(w.is_clean());
    w.ensemble.limit_nodes("/s", 5);  // itself, locks, leases, a turn and a lease
    for (auto* const each : {&w.ours, &w.theirs, &w.ours}) {
      for (int i = 0; i < 4; ++i) each->leave(w.take(*each));
      CHECK(w.is_clean());  // nodes of another client are no reason to wait
    }
  }
}

}  // namespace latchkey::testing
