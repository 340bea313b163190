// SPDX-License-Identifier: Apache-2.0
/// The lock delay of a robust mutex.

#include <doctest/doctest.h>

#include "log_lines.hpp"
#include "support/robust_world.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

TEST_SUITE("robust mutex") {
  TEST_CASE("a lock delay keeps the lock from others for as long, and not from tries, nor the next run of the same") {
    robust_world w{1, {.family = lock_family::robust, .lock_delay = 20s}};
    w.hold(w.theirs);
    const auto next = w.mine.enter(1, mode);
    REQUIRE(w.queued(3));
    w.ensemble.expire(w.session(w.two));
    REQUIRE(w.eventually([&] { return w.ensemble.children("/q").size() == 2; }));
    const auto died = w.time.now();
    w.time.run_for(5s);
    const auto attempt = w.third.enter(1, mode, detail::at_once);
    CHECK(w.ends(attempt, outcome::refused));
    w.time.run_until(died + 20s - 1ms);
    CHECK(next->what == outcome::waiting);
    REQUIRE(w.ends(next, outcome::granted));
    CHECK(w.time.now() < died + 21s);
    CHECK(w.mine.abandoned());
    w.mine.leave(1, mode);  // not in order: but the delay is over
    const auto since = w.time.now();
    w.hold(w.third);
    CHECK(w.time.now() < since + 1s);
    w.three.die();
    simulated_client again{w.ensemble, labelled("three")};
    REQUIRE(again.connect());
    simulated_lock next_run{again, "/q", {.family = lock_family::robust}};
    const auto call = next_run.enter(1, mode);
    REQUIRE(w.eventually([&] { return w.node_of(w.three).empty(); }));
    const auto gone = w.time.now();
    REQUIRE(w.ends(call, outcome::granted));
    CHECK(w.time.now() < gone + 1s);
    CHECK(next_run.abandoned()->label == "three");
  }

  TEST_CASE("tries of one object wait a lock delay out together, and say once who has died") {
    const log_lines log{log_level::warning};
    robust_world w{1, {.family = lock_family::robust, .lock_delay = 20s}};
    w.leave_dead();
    REQUIRE(w.queued(1));
    const auto died = w.time.now();
    for (;;) {
      const auto attempt = w.mine.enter(1, mode, detail::at_once);
      REQUIRE(w.eventually([&] { return attempt->what != outcome::waiting; }));
      if (attempt->what == outcome::granted) break;
      w.time.run_for(1s);
      REQUIRE(w.time.now() < died + 1min);
    }
    CHECK(w.time.now() >= died + 20s);
    CHECK(w.time.now() < died + 23s);
    CHECK(w.mine.abandoned());
    CHECK(log.with("has not unlocked it").size() == 1);
  }

  TEST_CASE("who waits a long lock delay out is not told to hold the lock itself") {
    const log_lines log{log_level::warning};
    robust_world w{1, {.family = lock_family::robust, .lock_delay = 45s}};
    w.leave_dead();
    const auto call = w.mine.enter(1, mode);
    CHECK(w.ends(call, outcome::granted));
    CHECK(log.with("waiting long").empty());
  }

  TEST_CASE("who has held for too long is no earlier run of who has the same label: the delay is waited out") {
    robust_world w{1, {.family = lock_family::robust, .max_hold = 5s, .lock_delay = 20s}};
    simulated_client again{w.ensemble, labelled("two")};
    REQUIRE(again.connect());
    simulated_lock next{again, "/q", {.family = lock_family::robust}};
    w.hold(w.theirs);
    const auto since = w.time.now();
    w.hold(next);
    CHECK(w.time.now() >= since + 25s);
  }

  TEST_CASE("who dies in a lock delay has written nothing: the next one waits the whole of it") {
    robust_world w{1, {.family = lock_family::robust, .lock_delay = 20s}};
    const auto fence = w.hold(w.theirs).fence();
    const auto head = w.third.enter(1, mode);
    REQUIRE(w.queued(3));
    const auto next = w.mine.enter(1, mode);
    REQUIRE(w.queued(4));
    w.ensemble.expire(w.session(w.two));
    REQUIRE(w.queued(3));
    w.time.run_for(15s);
    CHECK(head->what == outcome::waiting);
    w.ensemble.expire(w.session(w.three));
    REQUIRE(w.eventually([&] { return w.ensemble.owner("/q/" + w.ensemble.children("/q").front()) != 0; }));
    const auto since = w.time.now();
    REQUIRE(w.ends(next, outcome::granted));
    CHECK(w.time.now() >= since + 20s - 1s);
    CHECK(w.mine.abandoned()->fence == fence);
  }

  TEST_CASE("a try is granted a free lock, told of a death, and refused in a lock delay, and leaves nothing") {
    for (const auto delay : {0ms, 5000ms}) {
      CAPTURE(delay.count());
      robust_world w{1, {.family = lock_family::robust, .lock_delay = delay}};
      REQUIRE(w.ends(w.mine.enter(1, mode, detail::at_once), outcome::granted));
      CHECK(w.ends(w.third.enter(1, mode, detail::at_once), outcome::refused));
      w.mine.leave(1, mode);
      CHECK(w.queued(0));
      w.leave_dead();
      REQUIRE(w.queued(1));
      const auto begun = w.time.now();
      const auto attempt = w.mine.enter(1, mode, detail::at_once);
      REQUIRE(w.ends(attempt, delay == 0ms ? outcome::granted : outcome::refused));
      CHECK(w.time.now() < begun + 100ms);
      if (delay == 0ms) CHECK(w.mine.abandoned());
      if (delay == 0ms) w.mine.leave(1, mode);
      CHECK(w.queued(1));
    }
  }
}

}  // namespace latchkey::testing
