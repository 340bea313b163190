// SPDX-License-Identifier: Apache-2.0
/// A writer becomes a reader.

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

struct downgrade_world : calm_world {
  simulated_lock lock{one, "/q", {lock_family::shared}};
  simulated_lock other{two, "/q", {lock_family::shared}};
  grant writing;

  downgrade_world() {
    const auto writer = lock.enter(1, contender_kind::write);
    REQUIRE(ends(writer, outcome::granted));
    writing = lock.current(1, contender_kind::write);
  }
};

}  // namespace

TEST_SUITE("downgrade") {
  TEST_CASE("readers that wait are let in, a writer that waits is not") {
    downgrade_world w;
    const auto reader = w.other.enter(1, contender_kind::read);
    REQUIRE(w.queued(2));
    const auto writer = w.other.enter(2, contender_kind::write);
    REQUIRE(w.queued(3));
    REQUIRE(w.ends(w.lock.downgrade(1), outcome::granted));
    REQUIRE(w.ends(reader, outcome::granted));
    CHECK(w.lock.current(1, contender_kind::read));
    w.other.leave(1, contender_kind::read);
    w.time.run_for(1s);
    CHECK(writer->what == outcome::waiting);
    w.lock.leave(1, contender_kind::read);
    CHECK(w.ends(writer, outcome::granted));
  }

  TEST_CASE("a place that rests after that is given up when its session is over") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {.family = lock_family::shared, .linger = 1h}};
    REQUIRE(w.ends(lock.enter(1, contender_kind::write), outcome::granted));
    REQUIRE(w.ends(lock.downgrade(1), outcome::granted));
    lock.leave(1, contender_kind::read);
    REQUIRE(w.queued(1));
    w.ensemble.expire(w.session(w.one));
    CHECK(w.queued(0));
    CHECK(w.ends(lock.enter(1, contender_kind::read), outcome::granted));
  }

  TEST_CASE("the readers of the writer's own object that wait are let in, too") {
    downgrade_world w;
    const auto reader = w.lock.enter(2, contender_kind::read);
    REQUIRE(w.queued(2));
    REQUIRE(w.ends(w.lock.downgrade(1), outcome::granted));
    CHECK(w.ends(reader, outcome::granted));
  }

  TEST_CASE("the writer's grant is over before anybody else can be let in") {
    downgrade_world w;
    const auto call = w.lock.downgrade(1);
    CHECK_FALSE(w.writing);
    CHECK_FALSE(w.writing.loss().has_value());
    CHECK(w.ends(call, outcome::granted));
  }

  TEST_CASE(
      "the reader's token is larger than its own as a writer and smaller than those of writers that wait already") {
    downgrade_world w;
    const auto next = w.other.enter(1, contender_kind::write);
    REQUIRE(w.queued(2));
    REQUIRE(w.ends(w.lock.downgrade(1), outcome::granted));
    const auto reading = w.lock.current(1, contender_kind::read).fence();
    CHECK(reading > w.writing.fence());
    w.lock.leave(1, contender_kind::read);
    REQUIRE(w.ends(next, outcome::granted));
    CHECK(w.other.current(1, contender_kind::write).fence() > reading);
  }

  TEST_CASE("the reply is lost before or after the effect: the reader is found, or made, and there is one node") {
    for (const auto what : {trap::lost_before_effect, trap::lost_after_effect, trap::lost_then_late}) {
      CAPTURE(static_cast<int>(what));
      downgrade_world w;
      const auto writer = w.other.enter(1, contender_kind::write);
      REQUIRE(w.queued(2));
      w.one.connector().set_trap(request_kind::replace, what);
      REQUIRE(w.ends(w.lock.downgrade(1), outcome::granted));
      CHECK(w.lock.current(1, contender_kind::read));
      CHECK(w.queued(2));
      CHECK(writer->what == outcome::waiting);
      w.lock.leave(1, contender_kind::read);
      CHECK(w.ends(writer, outcome::granted));
    }
  }

  TEST_CASE("the reply is lost and the connection comes back: the reader's grant is proved in time") {
    for (int twelfths = 1; twelfths <= 12; ++twelfths) {
      CAPTURE(twelfths);
      downgrade_world w;
      const auto timeout = w.one.session_timeout();
      w.time.run_for(timeout * twelfths / 12);
      w.one.connector().set_trap(request_kind::replace, trap::lost_after_effect);
      REQUIRE(w.ends(w.lock.downgrade(1), outcome::granted));
      w.time.run_for(timeout);
      CHECK(w.lock.current(1, contender_kind::read));
      w.lock.leave(1, contender_kind::read);
    }
  }

  TEST_CASE(
      "an operator deletes the writer's node before it is replaced: the lock is lost, and stays with its caller") {
    downgrade_world w;
    w.ensemble.remove(w.node(w.writing));
    const auto call = w.lock.downgrade(1);
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(call->why->code == errc::lock_lost);
    CHECK_FALSE(w.lock.current(1, contender_kind::write));
    const auto next = w.lock.enter(2, contender_kind::write);
    w.time.run_for(1s);
    CHECK(next->what == outcome::waiting);
    w.lock.leave(1, contender_kind::write);
    CHECK(w.ends(next, outcome::granted));
  }

  TEST_CASE("the session is lost meanwhile: the downgrade fails, and nothing stays behind") {
    downgrade_world w;
    w.one.connector().set_trap(request_kind::replace, trap::lost_before_effect);
    const auto call = w.lock.downgrade(1);
    w.ensemble.expire(w.session(w.one));
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(call->why->code == errc::lock_lost);
    w.lock.leave(1, contender_kind::write);
    CHECK(w.queued(0));
    CHECK_THROWS(w.lock.downgrade(1));
  }
}

}  // namespace latchkey::testing
