// SPDX-License-Identifier: Apache-2.0
/// A mutex that tells its next owner if the last one did not unlock it.

#include <doctest/doctest.h>

#include "log_lines.hpp"
#include "support/robust_world.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

TEST_SUITE("robust mutex") {
  TEST_CASE("who unlocks leaves nothing behind, and nothing is told, in turns and from process to process") {
    robust_world w;
    for (int i = 0; i < 3; ++i) {
      const auto held = w.hold(w.mine);
      CHECK(held);
      CHECK(w.ensemble.exists(record));
      CHECK_FALSE(w.mine.abandoned());
      const auto turn = w.mine.enter(2, mode);
      const auto next = w.theirs.enter(1, mode);
      REQUIRE(w.queued(3));
      w.mine.leave(1, mode);
      REQUIRE(w.ends(turn, outcome::granted));
      CHECK_FALSE(w.mine.abandoned());
      w.mine.leave(2, mode);
      REQUIRE(w.ends(next, outcome::granted));
      CHECK_FALSE(w.theirs.abandoned());
      w.theirs.leave(1, mode);
      CHECK(w.queued(0));
    }
    CHECK(w.told(w.one) == 0);
  }

  TEST_CASE("the next owner is told who has died with the lock, and of what token") {
    robust_world w;
    const auto fence = w.leave_dead();
    const auto call = w.mine.enter(1, mode);
    REQUIRE(w.ends(call, outcome::granted));
    const auto dead = w.mine.abandoned();
    REQUIRE(dead);
    CHECK(dead->label == "two");
    CHECK(dead->fence == fence);
    CHECK(dead->pid != 0);
    CHECK_FALSE(dead->host.empty());
    CHECK(dead->session == w.session(w.two));
    CHECK_FALSE(dead->why);
    CHECK(dead->fence < w.mine.current(1, mode).fence());
    CHECK(w.told(w.one) == 1);
  }

  TEST_CASE("each later owner is told, too, until one says that all is in order, and has unlocked") {
    robust_world w;
    const auto fence = w.leave_dead();
    for (auto* const lock : {&w.mine, &w.third, &w.mine}) {
      w.hold(*lock);
      REQUIRE(lock->abandoned());
      CHECK(lock->abandoned()->fence == fence);
      const auto turn = lock->enter(2, mode);  // who goes on with the same entry
      lock->leave(1, mode);
      REQUIRE(w.ends(turn, outcome::granted));
      CHECK(lock->abandoned());
      lock->leave(2, mode);
      CHECK_FALSE(lock->abandoned());
    }
    w.hold(w.third);
    w.third.recovered();
    CHECK_FALSE(w.third.abandoned());
    const auto turn = w.third.enter(2, mode);
    w.third.leave(1, mode);
    REQUIRE(w.ends(turn, outcome::granted));
    CHECK_FALSE(w.third.abandoned());
    w.third.leave(2, mode);
    w.hold(w.mine);
    CHECK_FALSE(w.mine.abandoned());
    w.mine.leave(1, mode);
    CHECK(w.queued(0));
  }

  TEST_CASE("who dies after recovered() has unlocked nothing") {
    robust_world w;
    w.leave_dead();
    const auto second = w.hold(w.third).fence();
    w.third.recovered();
    w.three.die();
    w.hold(w.mine);
    REQUIRE(w.mine.abandoned());
    CHECK(w.mine.abandoned()->label == "three");
    CHECK(w.mine.abandoned()->fence == second);
  }

  TEST_CASE("an owner whose session ends, or whose node is deleted, has not unlocked it, though it calls unlock()") {
    for (const bool expires : {true, false}) {
      CAPTURE(expires);
      robust_world w;
      w.hold(w.theirs);
      const auto next = w.mine.enter(1, mode);
      REQUIRE(w.queued(3));
      if (expires) {
        w.ensemble.expire(w.session(w.two));
      } else {
        w.ensemble.remove(w.node_of(w.two));
      }
      REQUIRE(w.ends(next, outcome::granted));
      w.theirs.leave(1, mode);
      w.time.run_for(10s);
      REQUIRE(w.mine.abandoned());
      CHECK(w.mine.abandoned()->label == "two");
      w.mine.recovered();
      w.mine.leave(1, mode);
      CHECK(w.queued(0));
    }
  }

  TEST_CASE("who holds for too long is told with the reason, and what its callers do next is told in its turn") {
    robust_world w{1, {.family = lock_family::robust, .max_hold = 5s}};
    const auto fence = w.hold(w.theirs).fence();
    const auto next = w.mine.enter(1, mode);
    REQUIRE(w.ends(next, outcome::granted));
    const auto dead = w.mine.abandoned();
    REQUIRE(dead);
    CHECK(dead->fence == fence);
    CHECK(dead->why == loss_reason::held_too_long);
    w.theirs.leave(1, mode);
    w.mine.leave(1, mode);
    w.hold(w.theirs);
    REQUIRE(w.theirs.abandoned());  // of itself: nobody has put it in order
    CHECK(w.theirs.abandoned()->fence == fence);
  }

  TEST_CASE("what was poisoned is told as a death, also to the next caller of the object, unless that is taken back") {
    robust_world w;
    const auto fence = w.hold(w.mine).fence();
    w.mine.poison();
    w.mine.recovered();
    const auto turn = w.mine.enter(2, mode);
    w.mine.leave(1, mode);
    REQUIRE(w.ends(turn, outcome::granted));
    CHECK_FALSE(w.mine.abandoned());
    w.mine.poison();
    const auto next = w.mine.enter(3, mode);
    w.mine.leave(2, mode);
    REQUIRE(w.ends(next, outcome::granted));
    REQUIRE(w.mine.abandoned());
    CHECK(w.mine.abandoned()->fence == fence);
    w.mine.recovered();
    w.mine.leave(3, mode);
    w.mine.poison();  // nobody has it
    w.hold(w.third);
    CHECK_FALSE(w.third.abandoned());
    w.third.leave(1, mode);
    CHECK(w.queued(0));
  }

  TEST_CASE("a lock object or a client that goes while it is held is a dead owner; one that is not held is none") {
    robust_world w;
    w.hold(w.theirs);
    w.theirs.shut();
    w.hold(w.mine);
    CHECK(w.mine.abandoned());
    w.mine.recovered();
    w.mine.leave(1, mode);
    w.hold(w.mine);
    w.mine.leave(1, mode);
    w.mine.shut();
    w.hold(w.third);
    CHECK_FALSE(w.third.abandoned());
    w.three.close();
    simulated_lock last{w.two, "/q", {.family = lock_family::robust}};
    w.hold(last);
    CHECK(last.abandoned());
  }

  TEST_CASE("owners of other kinds are excluded, and are not told of") {
    robust_world w;
    simulated_lock plain{w.three, "/q", {.family = lock_family::turns}};
    const auto fence = w.leave_dead();
    w.hold(plain);
    const auto next = w.mine.enter(1, mode);
    REQUIRE(w.queued(3));
    CHECK(next->what == outcome::waiting);
    w.three.die();
    REQUIRE(w.ends(next, outcome::granted));
    REQUIRE(w.mine.abandoned());
    CHECK(w.mine.abandoned()->fence == fence);
  }

  TEST_CASE("a transaction does not release a robust mutex: only its unlock knows that all is in order") {
    robust_world w;
    w.hold(w.mine);
    const auto node = w.node_of(w.one);
    CHECK_FALSE(w.one.run([&] { return w.one.core()->lease_keeper().holder_of(node)->begin_release(); }));
    w.mine.leave(1, mode);
    CHECK(w.queued(0));
  }

  TEST_CASE("the log says who has died, once for each who takes the lock over") {
    const log_lines log{log_level::warning};
    robust_world w;
    w.leave_dead();
    w.hold(w.mine);
    w.mine.leave(1, mode);
    w.hold(w.third);
    CHECK(log.with("an owner of a robust_mutex has not unlocked it").size() == 1);
  }
}

}  // namespace latchkey::testing
