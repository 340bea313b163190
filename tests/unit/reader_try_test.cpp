// SPDX-License-Identifier: Apache-2.0
/// Readers who only try, alone or together with others of their object.

#include <vector>

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

}  // namespace

TEST_SUITE("readers") {
  TEST_CASE("tries that come together are let in together, or all refused") {
    for (const bool written : {false, true}) {
      CAPTURE(written);
      calm_world w;
      simulated_lock lock{w.one, "/q", {lock_family::shared}};
      simulated_lock other{w.two, "/q", {lock_family::shared}};
      REQUIRE(w.ends(other.enter(1, contender_kind::write), outcome::granted));
      if (!written) other.leave(1, contender_kind::write);
      REQUIRE(w.queued(written ? 1 : 0));
      w.one.connector().forget_sent();
      std::vector<simulated_lock::call> tries;
      for (std::uint64_t fiber = 1; fiber <= 8; ++fiber) {
        tries.push_back(lock.enter(fiber, contender_kind::read, detail::at_once));
      }
      for (const auto& each : tries) CHECK(w.ends(each, written ? outcome::refused : outcome::granted));
      CHECK(w.one.connector().sent() <= (written ? 1 : 3));
      CHECK(w.queued(1));
    }
  }

  TEST_CASE("a try joins one who waits for the ensemble's answer, and nobody who waits for a writer") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {lock_family::shared}};
    simulated_lock other{w.two, "/q", {lock_family::shared}};
    const auto first = lock.enter(1, contender_kind::read);
    const auto with_it = lock.enter(2, contender_kind::read, detail::at_once);
    REQUIRE(w.ends(first, outcome::granted));
    CHECK(with_it->what == outcome::granted);
    for (std::uint64_t fiber = 1; fiber <= 2; ++fiber) lock.leave(fiber, contender_kind::read);
    REQUIRE(w.ends(other.enter(1, contender_kind::write), outcome::granted));
    const auto patient = lock.enter(1, contender_kind::read);
    REQUIRE(w.ends(lock.enter(2, contender_kind::read, detail::at_once), outcome::refused));
    REQUIRE(w.queued(2));
    w.one.connector().forget_sent();
    CHECK(lock.enter(2, contender_kind::read, detail::at_once)->what == outcome::refused);
    CHECK(w.one.connector().sent() == 0);
    CHECK(patient->what == outcome::waiting);
    other.leave(1, contender_kind::write);
    CHECK(w.ends(patient, outcome::granted));
    CHECK(w.ends(lock.enter(2, contender_kind::read, detail::at_once), outcome::granted));
  }

  TEST_CASE("a try does not outlast the connection or the patience of those whom it has joined") {
    for (const bool gives_up : {false, true}) {
      CAPTURE(gives_up);
      calm_world w;
      simulated_lock lock{w.one, "/q", {lock_family::shared}};
      simulated_lock other{w.two, "/q", {lock_family::shared}};
      if (gives_up) REQUIRE(w.ends(other.enter(1, contender_kind::write), outcome::granted));
      const auto patient = lock.enter(1, contender_kind::read);
      const auto with_it = lock.enter(2, contender_kind::read, detail::at_once);
      if (gives_up) {
        lock.cancel(patient, contender_kind::read);
      } else {
        w.one.connector().latest()->lose_connection();
      }
      REQUIRE(w.ends(with_it, outcome::refused));
      if (gives_up) {
        CHECK(w.queued(1));
      } else {
        REQUIRE(w.ends(patient, outcome::granted));
        lock.leave(1, contender_kind::read);
        CHECK(w.queued(0));
      }
    }
  }

  TEST_CASE("a try in an outage leaves a lone reader's place as it is, too") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {.family = lock_family::shared, .share_for = 50ms}};
    REQUIRE(w.ends(lock.enter(1, contender_kind::read), outcome::granted));
    w.time.run_for(1s);
    w.one.connector().latest()->lose_connection();
    REQUIRE(w.eventually([&] { return !w.one.connected(); }));
    REQUIRE(w.ends(lock.enter(2, contender_kind::read, detail::at_once), outcome::refused));
    REQUIRE(w.one.connect());
    CHECK(w.ends(lock.enter(2, contender_kind::read), outcome::granted));
    CHECK(w.ensemble.children("/q").size() == 1);
  }

  TEST_CASE("a try does not wait for one of its own object who has lost the lock") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {lock_family::shared}};
    REQUIRE(w.ends(lock.enter(1, contender_kind::write), outcome::granted));
    w.ensemble.remove(w.node(lock.current(1, contender_kind::write)));
    REQUIRE(w.eventually([&] { return !lock.current(1, contender_kind::write); }));
    CHECK(w.ends(lock.enter(2, contender_kind::read, detail::at_once), outcome::refused));
    CHECK(w.queued(0));
    lock.leave(1, contender_kind::write);
    REQUIRE(w.ends(lock.enter(2, contender_kind::read, detail::at_once), outcome::granted));
    w.ensemble.remove(w.node(lock.current(2, contender_kind::read)));
    REQUIRE(w.eventually([&] { return !lock.current(2, contender_kind::read); }));
    CHECK(w.ends(lock.enter(1, contender_kind::write, detail::at_once), outcome::refused));
    CHECK(w.queued(0));
  }
}

}  // namespace latchkey::testing
