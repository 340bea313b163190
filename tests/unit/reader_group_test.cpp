// SPDX-License-Identifier: Apache-2.0
/// Readers of one object, who share a place.

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// One who has begun to read a while ago: the lease lasts for some time, but not for newcomers; a longer one takes a
/// proof.
struct between_two_proofs : calm_world {
  simulated_lock lock;
  simulated_lock other{two, "/q", {lock_family::shared}};

  explicit between_two_proofs(std::chrono::milliseconds share_for = 1h)
      : lock{one, "/q", {.family = lock_family::shared, .share_for = share_for}} {
    REQUIRE(ends(lock.enter(1, contender_kind::read), outcome::granted));
    CHECK(ends(lock.enter(2, contender_kind::read), outcome::granted));
    lock.leave(2, contender_kind::read);
    wear_out_lease(one);
    REQUIRE_FALSE(one.run([&] { return one.core()->lease_keeper().fresh(); }));
    one.connector().forget_sent();
  }

  /// From elsewhere; it waits.
  simulated_lock::call writer_comes() {
    auto writer = other.enter(1, contender_kind::write);
    REQUIRE(queued(2));
    wear_out_lease(one);
    one.connector().forget_sent();
    return writer;
  }
};

}  // namespace

TEST_SUITE("readers") {
  TEST_CASE("readers join without a request as long as nobody waits") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {.family = lock_family::shared, .share_for = 50ms}};
    REQUIRE(w.ends(lock.enter(1, contender_kind::read), outcome::granted));
    const auto second = lock.enter(2, contender_kind::read);
    CHECK(second->what == outcome::granted);
    w.time.run_for(200ms);
    w.one.connector().forget_sent();
    for (std::uint64_t fiber = 3; fiber < 100; ++fiber) {
      CHECK(lock.enter(fiber, contender_kind::read)->what == outcome::granted);
    }
    CHECK(w.one.connector().sent() == 0);
    CHECK(w.queued(1));
  }

  TEST_CASE("readers join for so long once a writer waits, and then queue behind it") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {.family = lock_family::shared, .share_for = 50ms}};
    simulated_lock other{w.two, "/q", {lock_family::shared}};
    REQUIRE(w.ends(lock.enter(1, contender_kind::read), outcome::granted));
    CHECK(lock.enter(2, contender_kind::read)->what == outcome::granted);
    w.time.run_for(200ms);
    const auto writer = other.enter(1, contender_kind::write);
    REQUIRE(w.eventually([&] { return w.ensemble.children("/q").size() == 2; }));
    CHECK(lock.enter(3, contender_kind::read)->what == outcome::granted);
    w.time.run_for(100ms);
    const auto late = lock.enter(4, contender_kind::read);
    REQUIRE(w.queued(3));
    CHECK(late->what == outcome::waiting);
    for (std::uint64_t fiber = 1; fiber <= 3; ++fiber) lock.leave(fiber, contender_kind::read);
    REQUIRE(w.ends(writer, outcome::granted));
    CHECK(late->what == outcome::waiting);
    other.leave(1, contender_kind::write);
    CHECK(w.ends(late, outcome::granted));
  }

  TEST_CASE("readers join with one proof where none is fresh, also ahead of a writer that waits") {
    between_two_proofs w;
    const auto writer = w.writer_comes();
    const auto second = w.lock.enter(2, contender_kind::read, detail::at_once);
    const auto third = w.lock.enter(3, contender_kind::read);
    REQUIRE(w.ends(second, outcome::granted));
    CHECK(third->what == outcome::granted);
    CHECK(w.one.connector().sent(request_kind::check) == 1);
    CHECK(w.one.connector().sent() <= 2);  // and whether a writer waits
    CHECK(w.ensemble.children("/q").size() == 2);
    CHECK(writer->what == outcome::waiting);
    for (std::uint64_t fiber = 1; fiber <= 3; ++fiber) w.lock.leave(fiber, contender_kind::read);
    CHECK(w.ends(writer, outcome::granted));
  }

  TEST_CASE("who waits for that proof is let in though the reader before it has left meanwhile, or has no lock") {
    for (const bool deleted : {false, true}) {
      CAPTURE(deleted);
      between_two_proofs w;
      const auto before = w.lock.current(1, contender_kind::read);
      if (deleted) w.ensemble.remove(w.node(before));
      const auto second = w.lock.enter(2, contender_kind::read);
      REQUIRE(second->what == outcome::waiting);
      if (!deleted) w.lock.leave(1, contender_kind::read);
      REQUIRE(w.ends(second, outcome::granted));
      CHECK(before.loss().has_value() == deleted);
      CHECK(w.queued(1));
      w.lock.leave(2, contender_kind::read);
      CHECK(w.queued(0));
    }
  }

  TEST_CASE("a try that needs a proof ends when the connection does, and who waits is let in after it") {
    between_two_proofs w;
    const auto once = w.lock.enter(2, contender_kind::read, detail::at_once);
    const auto patient = w.lock.enter(3, contender_kind::read);
    w.one.connector().latest()->lose_connection();
    REQUIRE(w.ends(once, outcome::refused));
    CHECK_FALSE(w.one.connected());
    CHECK(w.ends(patient, outcome::granted));
    CHECK(w.lock.current(1, contender_kind::read));
    for (std::uint64_t fiber = 1; fiber <= 3; ++fiber) w.lock.leave(fiber, contender_kind::read);
    CHECK(w.queued(0));
  }

  TEST_CASE("a try in an outage leaves the place as it is: who comes later joins it") {
    between_two_proofs w;
    const auto writer = w.writer_comes();
    w.one.connector().latest()->lose_connection();
    REQUIRE(w.ends(w.lock.enter(2, contender_kind::read, detail::at_once), outcome::refused));
    CHECK_FALSE(w.one.connected());
    REQUIRE(w.one.connect());
    CHECK(w.ends(w.lock.enter(2, contender_kind::read), outcome::granted));
    CHECK(writer->what == outcome::waiting);
    CHECK(w.ensemble.children("/q").size() == 2);
    for (std::uint64_t fiber = 1; fiber <= 2; ++fiber) w.lock.leave(fiber, contender_kind::read);
    CHECK(w.ends(writer, outcome::granted));
  }

  TEST_CASE("nobody asks for a proof who may not join") {
    between_two_proofs w{0ms};
    const auto writer = w.writer_comes();
    const auto late = w.lock.enter(2, contender_kind::read);
    CHECK(w.one.connector().sent(request_kind::check) == 0);
    REQUIRE(w.queued(3));
    w.lock.leave(1, contender_kind::read);
    REQUIRE(w.ends(writer, outcome::granted));
    CHECK(late->what == outcome::waiting);
    w.other.leave(1, contender_kind::write);
    CHECK(w.ends(late, outcome::granted));
  }

  TEST_CASE("a place that is asked for before its readers are let in is theirs all the same") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {lock_family::shared}};
    const auto writer = lock.enter(1, contender_kind::write);
    REQUIRE(w.ends(writer, outcome::granted));
    const auto reader = lock.enter(2, contender_kind::read);
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

  TEST_CASE("a place that queues again in a new session is the readers' who wait for it, whoever waits behind") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {.family = lock_family::shared, .linger = 1h, .share_for = 50ms}};
    simulated_lock other{w.two, "/q", {lock_family::shared}};
    simulated_lock third{w.two, "/q", {lock_family::shared}};
    REQUIRE(w.ends(lock.enter(1, contender_kind::read), outcome::granted));
    w.time.run_for(w.one.session_timeout() / 5);
    const auto first_writer = other.enter(1, contender_kind::write);
    REQUIRE(w.queued(2));
    lock.leave(1, contender_kind::read);
    const auto reader = lock.enter(2, contender_kind::read);
    w.one.connector().latest()->lose_connection();
    w.ensemble.expire(w.session(w.one));
    REQUIRE(w.ends(first_writer, outcome::granted));
    REQUIRE(w.queued(2));
    CHECK(reader->what == outcome::waiting);
    const auto second_writer = third.enter(1, contender_kind::write);
    REQUIRE(w.queued(3));
    other.leave(1, contender_kind::write);
    CHECK(w.ends(reader, outcome::granted));
    CHECK(second_writer->what == outcome::waiting);
    lock.leave(2, contender_kind::read);
    CHECK(w.ends(second_writer, outcome::granted));
    third.leave(1, contender_kind::write);
  }

  TEST_CASE("a lock object that is destroyed leaves no timer of a place that it lost") {
    calm_world w;
    {
      simulated_lock lock{w.one, "/q", {.family = lock_family::shared, .linger = 24h}};
      for (std::uint64_t fiber = 1; fiber <= 2; ++fiber) {
        REQUIRE(w.ends(lock.enter(fiber, contender_kind::read), outcome::granted));
        if (fiber == 1) lock.leave(fiber, contender_kind::read);
      }
      w.ensemble.expire(w.session(w.one));
      REQUIRE(w.eventually([&] { return !lock.current(2, contender_kind::read); }));
      lock.leave(2, contender_kind::read);
      lock.shut();
    }
    w.one.close();
    REQUIRE(w.eventually([&] { return w.one.closed(); }));
    CHECK_FALSE(w.one.core()->monitor().next_timer());
  }
}

}  // namespace latchkey::testing
