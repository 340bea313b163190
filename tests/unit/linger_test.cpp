// SPDX-License-Identifier: Apache-2.0
/// Places that are kept after the last unlock, and places that are passed on.

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr lock_settings lingering{.family = lock_family::turns, .turns = 2, .linger = 1h};

/// One has had the lock and keeps the place.
struct linger_world : calm_world {
  simulated_lock lock{one, "/q", lingering};
  simulated_lock other{two, "/q", {lock_family::turns}};

  void lock_and_unlock(std::uint64_t fiber = 1) {
    const auto call = lock.enter(fiber, contender_kind::lock);
    REQUIRE(ends(call, outcome::granted));
    lock.leave(fiber, contender_kind::lock);
  }
  linger_world() {
    lock_and_unlock();
    REQUIRE(queued(1));
  }
};

}  // namespace

TEST_SUITE("linger") {
  TEST_CASE("the lock is had again without a request, under a larger token") {
    linger_world w;
    w.one.connector().forget_sent();
    CHECK(w.lock.enter(1, contender_kind::lock)->what == outcome::granted);
    CHECK(w.one.connector().sent() == 0);
    CHECK(w.lock.current(1, contender_kind::lock).fence().turn == 1);
  }

  TEST_CASE("the place is given up when a contender comes") {
    linger_world w;
    const auto call = w.other.enter(1, contender_kind::lock);
    CHECK(w.ends(call, outcome::granted));
    CHECK(w.queued(1));
  }

  TEST_CASE("the place is given up when its time is over") {
    linger_world w;
    w.time.run_for(2h);
    CHECK(w.ensemble.children("/q").empty());
    CHECK(w.one.unfinished().empty());
  }

  TEST_CASE("the time of a place that is used again begins anew with each unlock, and is no longer than it was") {
    for (const auto mode : {contender_kind::lock, contender_kind::write, contender_kind::read}) {
      const auto family = mode == contender_kind::lock ? lock_family::turns : lock_family::shared;
      CAPTURE(static_cast<int>(mode));
      calm_world w;
      simulated_lock lock{w.one, "/q", {.family = family, .linger = 10s}};
      const auto wait_in_place = [&](duration time) {
        w.time.run_for(time);
        CHECK(w.ensemble.children("/q").size() == 1);
      };
      const auto enter = [&] { REQUIRE(w.ends(lock.enter(1, mode), outcome::granted)); };
      const auto leave = [&] { lock.leave(1, mode); };
      enter(), leave();
      wait_in_place(6s);
      enter(), leave();
      wait_in_place(9s);
      enter();
      wait_in_place(30s);  // an end of the linger finds it in use
      leave();
      wait_in_place(9s);
      w.time.run_for(2s);
      CHECK(w.ensemble.children("/q").empty());
      CHECK(w.one.unfinished().empty());
    }
  }

  TEST_CASE("who waits in a place that rested when its session went queues again, and is granted") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {.family = lock_family::turns, .turns = 1, .linger = 1h}};
    REQUIRE(w.ends(lock.enter(1, contender_kind::lock), outcome::granted));
    lock.leave(1, contender_kind::lock);  // who is outside? the answer is on its way
    const auto call = lock.enter(1, contender_kind::lock);
    REQUIRE(call->what == outcome::waiting);
    w.ensemble.expire(w.session(w.one));
    REQUIRE(w.ends(call, outcome::granted));
    w.time.run_for(1min);
    CHECK(lock.current(1, contender_kind::lock));  // its new node is the one that is proved
    lock.leave(1, contender_kind::lock);
    lock.shut();
    CHECK(w.queued(0));
    CHECK(w.one.unfinished().empty());
  }

  TEST_CASE("a place that went with its session is not taken for one") {
    linger_world w;
    w.ensemble.expire(w.session(w.one));
    w.time.run_for(1min);
    CHECK(w.ensemble.children("/q").empty());
    w.lock_and_unlock();
  }

  TEST_CASE("a place whose node has been deleted is not taken for one") {
    linger_world w;
    w.ensemble.remove("/q/" + w.ensemble.children("/q").at(0));
    w.time.run_for(1s);
    const auto call = w.lock.enter(1, contender_kind::lock);
    REQUIRE(w.ends(call, outcome::granted));
    CHECK_FALSE(w.node(w.lock.current(1, contender_kind::lock)).empty());
  }

  TEST_CASE("a place that has no young proof is proved before anybody is let in; nobody proves it meanwhile") {
    linger_world w;
    w.one.connector().forget_sent();
    w.time.run_for(1min);
    CHECK(w.one.connector().sent(request_kind::check) <= 1);
    w.one.connector().forget_sent();
    const auto call = w.lock.enter(1, contender_kind::lock);
    CHECK(call->what == outcome::waiting);
    REQUIRE(w.ends(call, outcome::granted));
    CHECK(w.one.connector().sent(request_kind::check) == 1);
    CHECK(w.one.connector().sent() == 1);
  }

  TEST_CASE("a try for a place that cannot be proved is refused with the connection") {
    linger_world w;
    w.time.run_for(1min);
    w.one.connector().set_trap(request_kind::check, trap::lost_before_effect);
    const auto call = w.lock.enter(1, contender_kind::lock, detail::at_once);
    CHECK(w.ends(call, outcome::refused));
    CHECK(w.queued(0));
    w.lock_and_unlock();
  }

  TEST_CASE("a try that must take a new place, without a connection to take it with, is refused and leaves nothing") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {  // what is told first, the answers or the end of the connection?
      CAPTURE(seed);
      calm_world w{seed};
      simulated_lock lock{w.one, "/q", {.family = lock_family::turns, .turns = 1, .linger = 1h}};
      REQUIRE(w.ends(lock.enter(1, contender_kind::lock), outcome::granted));
      lock.leave(1, contender_kind::lock);  // who is outside? the answer will not come
      const auto call = lock.enter(1, contender_kind::lock, detail::at_once);
      REQUIRE(call->what == outcome::waiting);
      w.one.connector().latest()->lose_connection();
      REQUIRE(w.eventually([&] { return call->what != outcome::waiting; }));
      lock.leave(1, contender_kind::lock);
      lock.shut();
      CHECK(w.one.core()->observers() == 0);
      CHECK(w.queued(0));
    }
  }

  TEST_CASE("turns go on without limit while nobody is outside") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {.family = lock_family::turns, .turns = 2}};
    auto call = lock.enter(1, contender_kind::lock);
    REQUIRE(w.ends(call, outcome::granted));
    const auto place = lock.current(1, contender_kind::lock).fence().czxid;
    for (std::uint64_t fiber = 2; fiber < 50; ++fiber) {
      call = lock.enter(fiber, contender_kind::lock);
      lock.leave(fiber - 1, contender_kind::lock);
      REQUIRE(w.ends(call, outcome::granted));
      CHECK(lock.current(fiber, contender_kind::lock).fence().czxid == place);
      w.time.run_for(20ms);
    }
  }

  TEST_CASE("turns are bounded as soon as somebody is outside, who is next then") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {.family = lock_family::turns, .turns = 2}};
    simulated_lock other{w.two, "/q", {lock_family::turns}};
    auto call = lock.enter(1, contender_kind::lock);
    REQUIRE(w.ends(call, outcome::granted));
    const auto remote = other.enter(1, contender_kind::lock);
    REQUIRE(w.queued(2));
    std::uint64_t fiber = 1;
    while (fiber < 50) {
      call = lock.enter(fiber + 1, contender_kind::lock);
      lock.leave(fiber, contender_kind::lock);
      ++fiber;
      w.time.run_for(100ms);
      if (call->what != outcome::granted) break;
    }
    CHECK(fiber == 3);  // two turns, and the third waits
    CHECK(remote->what == outcome::granted);
    other.leave(1, contender_kind::lock);
    CHECK(w.ends(call, outcome::granted));
  }

  TEST_CASE("readers who come while a lost writer has yet to unlock have the place that an earlier one has left") {
    for (const auto unlocked_after : {10ms, 500ms}) {  // while the place is kept, and later
      CAPTURE(unlocked_after.count());
      calm_world w;
      simulated_lock lock{w.one, "/q", {.family = lock_family::shared, .linger = 200ms}};
      REQUIRE(w.ends(lock.enter(1, contender_kind::write), outcome::granted));
      const auto writer = lock.current(1, contender_kind::write);
      writer.stop_token();  // its node is watched from now on
      w.time.run_for(1s);
      w.ensemble.remove("/q/" + w.ensemble.children("/q").front());
      REQUIRE(w.eventually([&] { return writer.loss().has_value(); }));
      const auto impatient = lock.enter(2, contender_kind::read, detail::end_of_call(1s, w.time.now()));
      REQUIRE(w.ends(impatient, outcome::refused));
      const auto reader = lock.enter(3, contender_kind::read);
      w.time.run_for(unlocked_after);
      CHECK(reader->what == outcome::waiting);
      lock.leave(1, contender_kind::write);
      REQUIRE(w.ends(reader, outcome::granted));
      w.time.run_for(1s);
      CHECK(w.ensemble.children("/q").size() == 1);
      lock.leave(3, contender_kind::read);
      CHECK(w.queued(0));
    }
  }
}

}  // namespace latchkey::testing
