// SPDX-License-Identifier: Apache-2.0
/// Places that are left for another one: both in one transaction.

#include <doctest/doctest.h>

#include <memory>

#include "support/habitual.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

using of_turns = habitual<lock_family::turns>;
using of_places = habitual<lock_family::fair>;

}  // namespace

TEST_SUITE("requeue") {
  TEST_CASE_TEMPLATE("who comes back at once has the lock again with one transaction and nothing else", World, of_turns,
                     of_places) {
    World w;
    auto last = w.fence();
    auto place = w.first();
    for (int i = 0; i < 5; ++i) {
      w.leave();
      CHECK(w.one.connector().sent() == static_cast<std::uint64_t>(i));
      w.enter();
      CHECK(w.fence() > last);
      last = w.fence();
      REQUIRE(w.ensemble.children("/q").size() == 1);
      CHECK(w.number(w.first()) == w.number(place) + 1);
      place = w.first();
    }
    CHECK(w.sent(request_kind::requeue) == 5);
    CHECK(w.one.connector().sent() == 5);
    w.leave();
    CHECK(w.nothing_is_left());
  }

  TEST_CASE_TEMPLATE("nobody is waited for until he has come back at once twice", World, of_turns, of_places) {
    calm_world w;
    simulated_lock lock{w.one, "/q", {std::is_same_v<World, of_turns> ? lock_family::turns : lock_family::fair}};
    for (std::uint64_t i = 1; i <= 3; ++i) {
      REQUIRE(w.ends(lock.enter(1, mode), outcome::granted));
      lock.leave(1, mode);
      CHECK(w.one.connector().sent(operation::create) >= i);
      CHECK(w.one.connector().sent(operation::remove) == (i < 3 ? i : 2));
    }
    CHECK(w.queued(0));
  }

  TEST_CASE_TEMPLATE("who does not come back is waited for once, and not for long", World, of_turns, of_places) {
    World w;
    w.leave();
    w.time.run_for(detail::reaper::patience - 1us);
    CHECK(w.sent(operation::remove) == 0);
    w.time.run_for(1us);
    CHECK(w.sent(operation::remove) == 1);
    CHECK(w.queued(0));
    w.enter();
    w.leave();
    CHECK(w.sent(operation::remove) == 2);  // at once
    CHECK(w.sent(request_kind::requeue) == 0);
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("who has come and gone meanwhile makes it ask: numbers that do not follow on one another prove nothing") {
    of_turns w;
    const auto before = w.fence();
    w.ensemble.remove(w.intrude("-lock-", 7));  // the parent has counted it
    w.leave();
    w.enter();
    CHECK(w.sent(request_kind::requeue) == 1);
    CHECK(w.sent(operation::children) == 1);
    CHECK(w.sent(operation::get) == 0);  // the list tells a token
    CHECK(w.fence() > before);
    CHECK(w.fence().czxid == w.made());
  }

  TEST_CASE_TEMPLATE("an operator who deletes the former node keeps nobody from the lock", World, of_turns, of_places) {
    for (const bool parent_too : {false, true}) {
      CAPTURE(parent_too);
      World w;
      const auto before = w.fence();
      w.leave();
      w.ensemble.remove("/q/" + w.ensemble.children("/q").front());
      if (parent_too) w.ensemble.remove("/q");
      w.enter();
      CHECK(w.sent(request_kind::requeue) == 1);
      CHECK(w.fence() > before);
      CHECK(w.ensemble.children("/q").size() == 1);
      w.leave();
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE_TEMPLATE("whatever becomes of the transaction, there is one place in the end, and then none", World,
                     of_turns, of_places) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect, trap::lost_then_late, trap::stuck}) {
        CAPTURE(seed);
        CAPTURE(static_cast<int>(fate));
        World w;
        w.time.run_for(seed * 7ms);
        const auto before = w.fence();
        w.one.connector().set_trap(request_kind::requeue, fate);
        w.leave();
        w.enter();
        CHECK(w.fence() > before);
        CHECK(w.queued(1));
        w.leave();
        CHECK(w.nothing_is_left());
      }
    }
  }

  TEST_CASE_TEMPLATE("who gives up while the transaction is under way leaves nothing behind", World, of_turns,
                     of_places) {
    for (const bool is_lost : {false, true}) {
      CAPTURE(is_lost);
      World w;
      if (is_lost) w.one.connector().set_trap(request_kind::requeue, trap::lost_after_effect);
      w.leave();
      const auto again = w.lock->enter(1, mode);
      CHECK(w.sent(request_kind::requeue) == 1);
      w.lock->cancel(again, mode);
      CHECK(again->what == outcome::refused);
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE_TEMPLATE("a refusal is that of the creation, and the former node goes", World, of_turns, of_places) {
    World w;
    w.leave();
    w.ensemble.forbid(operation::create, "/q");
    const auto again = w.lock->enter(1, mode);
    REQUIRE(w.ends(again, outcome::failed));
    CHECK(again->why->code == errc::not_authorized);
    CHECK(w.nothing_is_left());
  }

  TEST_CASE_TEMPLATE("the last number of all is refused", World, of_turns, of_places) {
    World w;
    w.leave();
    w.ensemble.set_counter("/q", 2147483647);
    const auto again = w.lock->enter(1, mode);
    REQUIRE(w.ends(again, outcome::failed));
    CHECK(again->why->code == errc::queue_exhausted);
    CHECK(w.nothing_is_left());
  }

  TEST_CASE_TEMPLATE("a node that waits for the next caller goes with its lock, its client or its session", World,
                     of_turns, of_places) {
    SUBCASE("the lock object is destroyed") {
      World w;
      w.leave();
      w.lock = nullptr;
      CHECK(w.nothing_is_left());
    }
    SUBCASE("the client is closed") {
      World w;
      w.leave();
      w.one.close();
      CHECK(w.eventually([&] { return w.one.closed(); }));
      CHECK(w.ensemble.children("/q").empty());
    }
    SUBCASE("the session expires") {
      World w;
      w.leave();
      w.ensemble.expire(w.session(w.one));
      w.enter();
      CHECK(w.queued(1));
      w.leave();
      CHECK(w.nothing_is_left());
    }
    SUBCASE("the connection is lost") {
      World w;
      w.leave();
      w.one.connector().latest()->lose_connection();
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("a try finds the lock free while the node of the last caller waits for the next") {
    of_turns w;
    simulated_lock sibling{w.one, "/q", {lock_family::turns}};
    w.leave();
    CHECK(w.ends(sibling.enter(2, mode, detail::end_of_call({}, w.time.now())), outcome::granted));
  }

  TEST_CASE("a place that somebody has asked for is given up at once") {
    of_turns w;
    CHECK_FALSE(w.lock->current(1, mode).asked_to_release());  // who looks is told from now on
    w.time.run_for(1s);
    w.ensemble.change("/q/" + w.ensemble.children("/q").front(), std::string{detail::release_request});
    w.time.run_for(1s);
    CHECK(w.lock->current(1, mode).asked_to_release());
    w.leave();
    CHECK(w.sent(operation::remove) == 1);
  }
}
}  // namespace latchkey::testing
