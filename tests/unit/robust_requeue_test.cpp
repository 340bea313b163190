// SPDX-License-Identifier: Apache-2.0
/// A robust place that is left for another one: the former one goes with its record, in one transaction with the next.

#include <doctest/doctest.h>

#include "support/habitual.hpp"
#include "support/robust_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

struct habitual_owner : habitual<lock_family::robust> {
  void come_back() {
    leave();
    enter();
  }
  /// So many steps later.
  simulated_lock::call begin_to_enter(int steps) {
    auto again = lock->enter(1, mode);
    for (int i = 0; i < steps; ++i) time.step();
    return again;
  }
  /// The other one has it next. @returns whom it is told of
  std::optional<dead_owner> told_to_other() {
    REQUIRE(ends(other.enter(1, mode), outcome::granted));
    auto dead = other.abandoned();
    other.recovered();
    other.leave(1, mode);
    return dead;
  }
};

}  // namespace

TEST_SUITE("robust mutex") {
  TEST_CASE("who comes back at once has the lock again with two transactions sent at once, and is told of no death") {
    habitual_owner w;
    auto last = w.fence();
    for (std::uint64_t i = 1; i <= 5; ++i) {
      w.leave();
      const auto again = w.lock->enter(1, mode);
      CHECK(w.one.connector().sent() == 2 * i);
      REQUIRE(w.ends(again, outcome::granted));
      CHECK(w.sent(request_kind::requeue) == i);
      CHECK(w.sent(operation::transact) == i);
      CHECK(w.sent(operation::get) == 0);
      CHECK(w.sent(operation::children) == 0);
      CHECK(w.sent(operation::create) == 0);
      CHECK(w.sent(request_kind::check) == 0);
      CHECK(w.one.connector().sent() == 2 * i);
      CHECK(w.fence() > last);
      CHECK_FALSE(w.lock->abandoned());
      REQUIRE(w.ensemble.children("/q").size() == 2);
      last = w.fence();
    }
    w.leave();
    CHECK(w.nothing_is_left());
    CHECK_FALSE(w.told_to_other());
  }

  TEST_CASE("who has come back at once is told of with the first token of that place") {
    habitual_owner w;
    w.come_back();
    const auto fence = w.fence();
    w.one.die();
    const auto dead = w.told_to_other();
    REQUIRE(dead);
    CHECK(dead->fence == fence);
  }

  TEST_CASE("who came behind meanwhile has the lock between the two places, and is told of no death") {
    habitual_owner w;
    const auto theirs = w.other.enter(1, mode);
    REQUIRE(w.queued(3));
    w.leave();
    const auto again = w.lock->enter(1, mode);
    REQUIRE(w.ends(theirs, outcome::granted));
    CHECK_FALSE(w.other.abandoned());
    CHECK(again->what == outcome::waiting);
    w.other.leave(1, mode);
    REQUIRE(w.ends(again, outcome::granted));
    CHECK_FALSE(w.lock->abandoned());
    w.leave();
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("a death that was not put in order is told to who comes back at once, and to the next") {
    habitual_owner w;
    w.leave();
    REQUIRE(w.nothing_is_left());
    w.enter();
    const auto fence = w.fence();
    w.one.connector().forget_sent();
    w.lock->poison();
    w.come_back();
    REQUIRE(w.lock->abandoned());
    CHECK(w.lock->abandoned()->fence == fence);
    for (int i = 0; i < 3; ++i) {
      w.come_back();
      REQUIRE(w.lock->abandoned());
      CHECK(w.lock->abandoned()->fence == fence);
    }
    w.leave();
    REQUIRE(w.queued(1));
    const auto dead = w.told_to_other();
    REQUIRE(dead);
    CHECK(dead->fence == fence);
    CHECK_FALSE(w.told_to_other());
  }

  TEST_CASE("an operator who deletes the record, or the former node, keeps nobody from the lock") {
    for (const bool is_record : {true, false}) {
      CAPTURE(is_record);
      habitual_owner w;
      const auto former = w.first();
      w.leave();
      w.ensemble.remove(is_record ? record : former);
      w.enter();
      CHECK(w.sent(request_kind::requeue) == 1);
      CHECK(w.lock->abandoned().has_value() == !is_record);  // as an unlock that comes too late
      w.lock->recovered();
      CHECK(w.ensemble.children("/q").size() == 2);
      w.leave();
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("whatever becomes of the transaction, it is done once, and is no death") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect, trap::lost_then_late, trap::stuck}) {
        CAPTURE(seed);
        CAPTURE(static_cast<int>(fate));
        habitual_owner w;
        w.time.run_for(seed * 7ms);
        const auto before = w.fence();
        w.one.connector().set_trap(request_kind::requeue, fate);
        w.come_back();
        CHECK(w.fence() > before);
        CHECK_FALSE(w.lock->abandoned());
        CHECK(w.queued(2));
        CHECK(w.ensemble.exists(record));
        w.leave();
        CHECK(w.nothing_is_left());
        CHECK_FALSE(w.told_to_other());
      }
    }
  }

  TEST_CASE("who comes back at once and gives up at any step leaves nothing, and is no death, whatever is lost") {
    for (const bool is_lost : {false, true}) {
      for (int steps = 0; steps < 60; ++steps) {
        CAPTURE(is_lost);
        CAPTURE(steps);
        habitual_owner w;
        w.leave();
        const auto again = w.begin_to_enter(steps);
        if (is_lost) w.one.connector().latest()->lose_connection();
        if (again->what == outcome::waiting) w.lock->cancel(again, mode);
        if (again->what == outcome::granted) w.leave();
        CHECK(w.nothing_is_left());
        CHECK_FALSE(w.told_to_other());
      }
    }
  }

  TEST_CASE("a client that is closed at any step while a call waits is no death, and leaves nothing") {
    for (const bool at_once : {true, false}) {
      for (int steps = 0; steps < 60; ++steps) {
        CAPTURE(at_once);
        CAPTURE(steps);
        habitual_owner w;
        w.leave();
        if (!at_once) REQUIRE(w.queued(0));
        const auto again = w.begin_to_enter(steps);
        if (again->what != outcome::waiting) break;
        w.one.close();
        CHECK(w.ends(again, outcome::failed));
        CHECK(w.queued(0));
        CHECK_FALSE(w.told_to_other());
      }
    }
  }

  TEST_CASE("whatever becomes of the record that is sent along, it is there once, and has the token of its owner") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      for (const auto what : {request_kind{operation::transact}, request_kind::requeue}) {
        for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect, trap::lost_then_late, trap::stuck}) {
          CAPTURE(seed);
          CAPTURE(what.index());
          CAPTURE(static_cast<int>(fate));
          habitual_owner w;
          w.time.run_for(seed * 7ms);
          w.one.connector().set_trap(what, fate);
          w.come_back();
          CHECK_FALSE(w.lock->abandoned());
          const auto fence = w.fence();
          w.one.die();
          const auto dead = w.told_to_other();
          REQUIRE(dead);
          CHECK(dead->fence == fence);
        }
      }
    }
  }

  TEST_CASE("who dies at any step after it came back is told of at most with what it held") {
    for (int steps = 0; steps < 60; ++steps) {
      CAPTURE(steps);
      habitual_owner w;
      const auto before = w.fence();
      w.leave();
      const auto again = w.begin_to_enter(steps);
      const bool is_granted = again->what == outcome::granted;
      const auto fence = is_granted ? w.fence() : fencing_token{};
      w.one.die();
      const auto dead = w.told_to_other();
      // Its unlock may not have got through, or the record was there before the grant.
      if (is_granted) REQUIRE(dead);
      if (is_granted) CHECK(dead->fence == fence);
      if (dead && !is_granted) CHECK(dead->fence >= before);
      CHECK_FALSE(w.told_to_other());
      CHECK(w.queued(0));
    }
  }
}

}  // namespace latchkey::testing
