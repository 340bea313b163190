// SPDX-License-Identifier: Apache-2.0
/// Places of one fair line, next to one another.

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

}  // namespace

TEST_SUITE("neighbours") {
  TEST_CASE(
      "the neighbour ahead leaves before the reply to the create is there: the one behind is let in without a list") {
    calm_world w;
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    const auto first = line.enter(1, contender_kind::lock);
    const auto second = line.enter(2, contender_kind::lock);
    REQUIRE(w.ends(first, outcome::granted));
    REQUIRE(w.queued(2));
    const auto third = line.enter(3, contender_kind::lock);  // its create is on its way
    w.one.connector().forget_sent();
    line.leave(1, contender_kind::lock);
    CHECK(second->what == outcome::granted);
    line.leave(2, contender_kind::lock);
    CHECK(third->what == outcome::waiting);
    REQUIRE(w.ends(third, outcome::granted));
    CHECK(w.one.connector().sent(operation::children) <= 1);  // when its line was empty at the reply, it looks
    CHECK(w.one.connector().sent(operation::get) == 0);
    CHECK(w.queued(1));
  }

  TEST_CASE("neighbours pass the lock on with a create each, and deletions that go together") {
    calm_world w;
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    const auto first = line.enter(1, contender_kind::lock);
    REQUIRE(w.ends(first, outcome::granted));
    w.one.connector().forget_sent();
    std::vector<simulated_lock::call> calls;
    for (std::uint64_t fiber = 2; fiber <= 10; ++fiber) calls.push_back(line.enter(fiber, contender_kind::lock));
    REQUIRE(w.queued(10));
    line.leave(1, contender_kind::lock);
    for (const auto& each : calls) {
      CHECK(each->what == outcome::granted);
      line.leave(0, contender_kind::lock);
    }
    CHECK(w.queued(0));
    CHECK(w.one.connector().sent(operation::create) == 9);
    CHECK(w.one.connector().sent(operation::remove) == 1);
    CHECK(w.one.connector().sent(request_kind::remove_all) == 1);
    CHECK(w.one.connector().sent(operation::get) == 11);      // each its own, for which nobody waits; and the parent
    CHECK(w.one.connector().sent(operation::children) == 1);  // the first to come after one that came alone
    CHECK(w.one.connector().sent() == 23);
  }

  TEST_CASE("a place in the middle is cancelled: the one behind it waits for the one ahead of it, without a request") {
    calm_world w;
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    const auto first = line.enter(1, contender_kind::lock);
    const auto middle = line.enter(2, contender_kind::lock);
    const auto last = line.enter(3, contender_kind::lock);
    REQUIRE(w.ends(first, outcome::granted));
    REQUIRE(w.queued(3));
    w.one.connector().forget_sent();
    line.cancel(middle, contender_kind::lock);
    CHECK(middle->what == outcome::refused);
    CHECK(w.queued(2));
    CHECK(last->what == outcome::waiting);
    CHECK(w.one.connector().sent() == 1);  // the delete
    line.leave(1, contender_kind::lock);
    CHECK(last->what == outcome::granted);
    CHECK(w.one.connector().sent() == 2);
  }

  TEST_CASE("somebody else between two of ours: the second is not let in by the first") {
    calm_world w;
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    simulated_lock other{w.two, "/q", {lock_family::fair}};
    REQUIRE(w.ends(line.enter(1, contender_kind::lock), outcome::granted));
    const auto between = other.enter(1, contender_kind::lock);
    REQUIRE(w.queued(2));
    const auto last = line.enter(2, contender_kind::lock);
    REQUIRE(w.queued(3));
    line.leave(1, contender_kind::lock);
    REQUIRE(w.ends(between, outcome::granted));
    w.time.run_for(1s);
    CHECK(last->what == outcome::waiting);
    other.leave(1, contender_kind::lock);
    CHECK(w.ends(last, outcome::granted));
  }

  TEST_CASE("the parent is reaped between two turns: the numbers begin again, and nobody is taken for a neighbour") {
    calm_world w;
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    REQUIRE(w.ends(line.enter(1, contender_kind::lock), outcome::granted));
    line.leave(1, contender_kind::lock);
    REQUIRE(w.queued(0));
    w.ensemble.reap();
    REQUIRE_FALSE(w.ensemble.exists("/q"));
    const auto second = line.enter(2, contender_kind::lock);
    const auto third = line.enter(3, contender_kind::lock);
    REQUIRE(w.ends(second, outcome::granted));
    REQUIRE(w.queued(2));
    CHECK(third->what == outcome::waiting);
    line.leave(2, contender_kind::lock);
    CHECK(w.ends(third, outcome::granted));
  }

  TEST_CASE("a session that is lost takes five neighbours with it, who queue again in their order") {
    calm_world w;
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    std::vector<simulated_lock::call> calls;
    for (std::uint64_t fiber = 1; fiber <= 5; ++fiber) calls.push_back(line.enter(fiber, contender_kind::lock));
    REQUIRE(w.ends(calls[0], outcome::granted));
    REQUIRE(w.queued(5));
    const auto before = line.current(1, contender_kind::lock);
    w.ensemble.expire(w.session(w.one));
    REQUIRE(w.eventually([&] { return !before; }));
    REQUIRE(w.queued(4));
    CHECK(calls[1]->what == outcome::waiting);  // the lost one has not been unlocked
    for (std::uint64_t fiber = 1; fiber <= 4; ++fiber) {
      line.leave(fiber, contender_kind::lock);
      REQUIRE(w.ends(calls[fiber], outcome::granted));
      for (auto next = fiber + 1; next < 5; ++next) CHECK(calls[next]->what == outcome::waiting);
    }
    line.leave(5, contender_kind::lock);
    CHECK(w.queued(0));
  }

  TEST_CASE("a place that is kept says so when its session has taken it, and stands at the end when it queues again") {
    calm_world w;
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    simulated_lock other{w.two, "/q", {lock_family::fair}};
    REQUIRE(w.ends(other.enter(1, contender_kind::lock), outcome::granted));
    const auto place = line.make_place();
    REQUIRE(w.ends(line.queue(place, 1), outcome::granted));
    const auto waiting = line.wait(place, 1);
    w.ensemble.expire(w.session(w.one));
    REQUIRE(w.ends(waiting, outcome::failed));
    CHECK(waiting->why->code == errc::place_lost);
    CHECK(place->lost());
    CHECK_THROWS_AS(line.wait(place, 1), error);
    const auto ahead = other.enter(2, contender_kind::lock);
    REQUIRE(w.queued(2));
    REQUIRE(w.ends(line.queue_again(place, 1), outcome::granted));
    const auto again = line.wait(place, 1);
    other.leave(1, contender_kind::lock);
    REQUIRE(w.ends(ahead, outcome::granted));
    CHECK(again->what == outcome::waiting);
    other.leave(2, contender_kind::lock);
    CHECK(w.ends(again, outcome::granted));
    CHECK(place->spent());
  }
}

}  // namespace latchkey::testing
