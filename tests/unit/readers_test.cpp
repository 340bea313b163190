// SPDX-License-Identifier: Apache-2.0
/// Readers of one object, who share a place.

#include <doctest/doctest.h>

#include "fake/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

}  // namespace

TEST_SUITE("readers") {
  TEST_CASE("readers join without a request as long as nobody waits") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {.family = lock_family::shared, .share_for = 50ms}};
    REQUIRE(w.ends(lock.enter(1, contender_kind::read, {}), outcome::granted));
    const auto second = lock.enter(2, contender_kind::read, {});
    CHECK(second->what == outcome::granted);
    w.time.run_for(200ms);
    w.one.connector().forget_sent();
    for (std::uint64_t fiber = 3; fiber < 100; ++fiber) {
      CHECK(lock.enter(fiber, contender_kind::read, {})->what == outcome::granted);
    }
    CHECK(w.one.connector().sent() == 0);
    CHECK(w.queued(1));
  }

  TEST_CASE("readers join for so long once a writer waits, and then queue behind it") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {.family = lock_family::shared, .share_for = 50ms}};
    simulated_lock other{w.two, "/q", {lock_family::shared}};
    REQUIRE(w.ends(lock.enter(1, contender_kind::read, {}), outcome::granted));
    CHECK(lock.enter(2, contender_kind::read, {})->what == outcome::granted);
    w.time.run_for(200ms);
    const auto writer = other.enter(1, contender_kind::write, {});
    REQUIRE(w.eventually([&] { return w.ensemble.children("/q").size() == 2; }));
    CHECK(lock.enter(3, contender_kind::read, {})->what == outcome::granted);
    w.time.run_for(100ms);
    const auto late = lock.enter(4, contender_kind::read, {});
    REQUIRE(w.queued(3));
    CHECK(late->what == outcome::waiting);
    for (std::uint64_t fiber = 1; fiber <= 3; ++fiber) lock.leave(fiber, contender_kind::read);
    REQUIRE(w.ends(writer, outcome::granted));
    CHECK(late->what == outcome::waiting);
    other.leave(1, contender_kind::write);
    CHECK(w.ends(late, outcome::granted));
  }

  TEST_CASE("a place that is asked for before its readers are let in is theirs all the same") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {lock_family::shared}};
    const auto writer = lock.enter(1, contender_kind::write, {});
    REQUIRE(w.ends(writer, outcome::granted));
    const auto reader = lock.enter(2, contender_kind::read, {});
    REQUIRE(w.queued(2));
    w.ensemble.remove(w.node(lock.current(1, contender_kind::write)));
    w.time.run_for(1min);  // lost, and not unlocked: the reader's place is granted and proved, nobody is let in
    REQUIRE(reader->what == outcome::waiting);
    const auto place = "/q/" + w.ensemble.children("/q").at(0);
    w.ensemble.change(place, std::string{detail::release_request});
    w.time.run_for(1min);
    lock.leave(1, contender_kind::write);
    REQUIRE(w.ends(reader, outcome::granted));
    const auto reading = lock.current(2, contender_kind::read);
    CHECK(reading.asked_to_release());
    lock.leave(2, contender_kind::read);
    CHECK(w.queued(0));
  }

  TEST_CASE("a try does not wait for one of its own object who has lost the lock") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {lock_family::shared}};
    REQUIRE(w.ends(lock.enter(1, contender_kind::write, {}), outcome::granted));
    w.ensemble.remove(w.node(lock.current(1, contender_kind::write)));
    REQUIRE(w.eventually([&] { return !lock.current(1, contender_kind::write); }));
    CHECK(w.ends(lock.enter(2, contender_kind::read, {.once = true}), outcome::refused));
    CHECK(w.queued(0));
    lock.leave(1, contender_kind::write);
    REQUIRE(w.ends(lock.enter(2, contender_kind::read, {.once = true}), outcome::granted));
    w.ensemble.remove(w.node(lock.current(2, contender_kind::read)));
    REQUIRE(w.eventually([&] { return !lock.current(2, contender_kind::read); }));
    CHECK(w.ends(lock.enter(1, contender_kind::write, {.once = true}), outcome::refused));
    CHECK(w.queued(0));
  }
}

}  // namespace latchkey::testing
