// SPDX-License-Identifier: Apache-2.0
#include <latchkey/testing/simulated_ensemble.hpp>

#include <latchkey/mutex.hpp>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "callers.hpp"

namespace latchkey::testing {

using kind = client_event::kind;

TEST_CASE("advancing by hours keeps a lock that is connected") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/locks/nightly"};
  const auto held = lock.acquire();
  const auto session = owner.session_id();
  const auto before = ensemble.now();
  ensemble.advance(2h);
  CHECK(ensemble.now() - before >= 2h);
  CHECK(held);
  CHECK(held.grant().valid_until() > ensemble.now());
  CHECK(owner.session_id() == session);
}

TEST_CASE("the clock does not go back") {
  simulated_ensemble ensemble;
  const auto before = ensemble.now();
  CHECK_THROWS_AS(ensemble.advance(-6s), std::invalid_argument);
  CHECK(ensemble.now() >= before);
}

TEST_CASE("a client that is cut off for a quarter of its session timeout keeps its lock") {
  simulated_ensemble ensemble;
  client owner{ensemble, {.session_timeout = 12s}};
  mutex lock{owner, "/locks/nightly"};
  const auto held = lock.acquire();
  const auto session = owner.session_id();
  ensemble.cut(owner);
  ensemble.advance(3s);
  CHECK(held);
  ensemble.heal(owner);
  ensemble.advance(1min);
  CHECK(held);
  CHECK(owner.session_id() == session);
}

TEST_CASE("a client that is cut off for its session timeout loses its lock at the deadline") {
  std::mutex guards_seen;
  std::vector<kind> seen;
  simulated_ensemble ensemble;
  client owner{ensemble, {.session_timeout = 12s, .close_timeout = 0ms, .observer = [&](const client_event& event) {
                            const std::lock_guard guard{guards_seen};
                            seen.push_back(event.what);
                          }}};
  mutex lock{owner, "/locks/nightly"};
  const auto held = lock.acquire();
  ensemble.cut(owner);
  ensemble.advance(12s);
  CHECK(held.grant().loss() == loss_reason::deadline_passed);
  ensemble.advance(1s);
  CHECK(ensemble.children("/locks/nightly").empty());
  ensemble.heal(owner);
  CHECK(owner.connected());
  const std::lock_guard guard{guards_seen};
  std::string in_words;
  for (const auto each : seen) in_words += std::string{to_string(each)} + "; ";
  CHECK(in_words == "connected; disconnected; suspect; unreachable; lost; session expired; connected; ");
}

TEST_CASE("cutting everybody holds for clients that are made later, too") {
  simulated_ensemble ensemble;
  ensemble.cut();
  client owner{ensemble, {.connect_timeout = 1s}};
  mutex lock{owner, "/locks/nightly"};
  ensemble.advance(2s);
  CHECK_FALSE(owner.connected());
  CHECK_THROWS_AS((void)lock.try_acquire(), error);
  ensemble.heal();
  CHECK(owner.connected());
  CHECK(lock.try_acquire());
}

TEST_CASE_TEMPLATE("a timeout ends when the clock has been advanced by it", callers, LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  mutex of_one{one, "/locks/nightly"};
  mutex of_two{two, "/locks/nightly"};
  const auto held = of_one.acquire();
  auto waiting = callers::start([&] {
    const auto mine = of_two.try_acquire_for(1h);
    return static_cast<bool>(mine);
  });
  REQUIRE(queued(ensemble, "/locks/nightly", 2));
  ensemble.advance(59min);
  CHECK(ensemble.children("/locks/nightly").size() == 2);
  ensemble.advance(1min);
  CHECK_FALSE(waiting.get());
  CHECK(queued(ensemble, "/locks/nightly", 1));
  CHECK(held);
}

TEST_CASE_TEMPLATE("time may be advanced, and clients be cut, while others use their locks", callers,
                   LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client one{ensemble, {.close_timeout = 0ms}};
  client two{ensemble, {.close_timeout = 0ms}};
  std::atomic<bool> over{false};
  const auto use = [&](client& through) {
    return [&] {
      mutex lock{through, "/locks/nightly", {.turns = 1}};
      int turns = 0;
      while (!over) {
        try {
          if (const auto held = lock.try_acquire_for(5s)) ++turns;
        } catch (const error& failure) {
          if (failure.code() != errc::unreachable) throw;
        }
      }
      return turns;
    };
  };
  auto first = callers::start(use(one));
  auto second = callers::start(use(two));
  for (int i = 0; i < 20; ++i) {
    auto& victim = i % 2 == 0 ? one : two;
    ensemble.cut(victim);
    ensemble.advance(1s * i);
    ensemble.heal(victim);
    ensemble.expire_session(victim);
  }
  over = true;
  ensemble.advance(5s);
  const auto turns = first.get() + second.get();
  MESSAGE(turns << " turns");
  CHECK(turns > 0);
}

TEST_CASE("an idle lock keeps its entry for the time it lingers") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/locks/nightly", {.linger = 1min}};
  lock.acquire().release();
  ensemble.advance(50s);  // time goes on by itself, too
  CHECK(ensemble.children("/locks/nightly").size() == 1);
  ensemble.advance(11s);
  CHECK(ensemble.children("/locks/nightly").empty());
}

}  // namespace latchkey::testing
