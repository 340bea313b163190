// SPDX-License-Identifier: Apache-2.0
/// A robust mutex when something goes wrong, at every step.

#include <doctest/doctest.h>

#include "log_lines.hpp"
#include "support/robust_world.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

TEST_SUITE("robust mutex") {
  TEST_CASE("a call that gives up at any step leaves nothing, and says nothing of a death that it did not see") {
    for (const bool after_death : {false, true}) {
      for (int steps = 0; steps < 40; ++steps) {
        CAPTURE(after_death);
        CAPTURE(steps);
        robust_world w{static_cast<std::uint64_t>(steps) + 1};
        fencing_token fence;
        if (after_death) fence = w.leave_dead();
        if (after_death) REQUIRE(w.queued(1));
        const auto call = w.mine.enter(1, mode);
        for (int i = 0; i < steps; ++i) w.time.step();
        if (call->what == outcome::waiting) w.mine.cancel(call, mode);
        if (call->what == outcome::granted) w.mine.leave(1, mode);
        REQUIRE(w.queued(after_death ? 1 : 0));
        w.hold(w.third);
        CHECK(w.third.abandoned().has_value() == after_death);
        if (after_death) CHECK(w.third.abandoned()->fence == fence);
        w.third.recovered();
        w.third.leave(1, mode);
        REQUIRE(w.queued(0));
      }
    }
  }

  TEST_CASE("whatever goes wrong at whatever step, exactly those are told who follow on a death") {
    enum class fault { reset, hole, expiry, deletion };
    for (const bool dies : {false, true}) {
      for (const auto what : {fault::reset, fault::hole, fault::expiry, fault::deletion}) {
        for (int steps = 0; steps < 60; ++steps) {
          CAPTURE(dies);
          CAPTURE(static_cast<int>(what));
          CAPTURE(steps);
          robust_world w{static_cast<std::uint64_t>(steps) + 1};
          const auto fence = w.hold(w.theirs).fence();
          const auto call = w.mine.enter(1, mode);
          REQUIRE(w.queued(3));
          dies ? w.ensemble.expire(w.session(w.two)) : w.theirs.leave(1, mode);
          for (int i = 0; i < steps; ++i) w.time.step();
          if (call->what == outcome::granted) break;
          switch (what) {
            case fault::reset:
              w.one.connector().latest()->lose_connection();
              break;
            case fault::hole:
              w.one.connector().latest()->open_hole(w.one.session_timeout());
              break;
            case fault::expiry:
              w.ensemble.expire(w.session(w.one));
              break;
            case fault::deletion:
              w.ensemble.remove(w.node_of(w.one));
          }
          REQUIRE(w.ends(call, outcome::granted));
          const auto dead = w.mine.abandoned();
          // It may have been its own record already.
          const bool by_itself = dead && dead->label == "one" && what != fault::reset;
          if (!by_itself) CHECK(dead.has_value() == dies);
          if (dead && !by_itself) CHECK(dead->fence == fence);
          w.mine.recovered();
          w.mine.leave(1, mode);
          w.hold(w.third);
          // Its session may have been over, or its node gone, when it unlocked.
          if (w.third.abandoned()) CHECK(what != fault::reset);
          if (w.third.abandoned()) CHECK(w.third.abandoned()->label == "one");
          w.third.recovered();
          w.third.leave(1, mode);
          REQUIRE(w.queued(0));
        }
      }
    }
  }

  TEST_CASE("a place whose owner has unlocked, and that stands again in another session, leaves the record of others") {
    robust_world w;
    w.hold(w.mine);
    const auto next = w.mine.enter(2, mode);
    w.one.connector().cut();
    const auto until = w.one.run([&] { return w.one.core()->lease_keeper().current_lease()->valid_until(); });
    w.time.run_until(until - 1ms);
    w.mine.leave(1, mode);  // a turn needs a proof
    REQUIRE(next->what == outcome::waiting);
    w.hold(w.third);
    w.third.recovered();
    w.one.connector().heal();
    REQUIRE(w.queued(3));
    REQUIRE(next->what == outcome::waiting);
    w.mine.cancel(next, mode);
    REQUIRE(w.queued(2));
    CHECK(w.ensemble.exists(record));
    w.three.die();
    w.hold(w.theirs);
    REQUIRE(w.theirs.abandoned());
    CHECK(w.theirs.abandoned()->label == "three");
  }

  TEST_CASE("an unlock whose connection is lost at any step is done once, and is no death, if its session goes on") {
    for (int steps = 0; steps < 40; ++steps) {
      for (const bool same_client : {false, true}) {
        CAPTURE(steps);
        CAPTURE(same_client);
        const log_lines log{log_level::warning};
        robust_world w{static_cast<std::uint64_t>(steps) + 1};
        simulated_lock other{w.two, "/q", {.family = lock_family::robust}};
        auto& next = same_client ? other : w.mine;
        w.hold(w.theirs);
        const auto call = next.enter(1, mode);
        REQUIRE(w.queued(3));
        w.theirs.leave(1, mode);
        for (int i = 0; i < steps; ++i) w.time.step();
        w.two.connector().latest()->lose_connection();
        REQUIRE(w.ends(call, outcome::granted));
        CHECK_FALSE(next.abandoned());
        CHECK(log.with("an owner of a robust_mutex has not unlocked it").empty());
        CHECK(w.ensemble.exists(record));
        w.time.run_for(10s);
        CHECK(w.ensemble.exists(record));  // the repeated deletion has not taken that of the next one
        next.leave(1, mode);
        REQUIRE(w.queued(0));
      }
    }
  }
}

}  // namespace latchkey::testing
