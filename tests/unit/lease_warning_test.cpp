// SPDX-License-Identifier: Apache-2.0
/// `grant::stop_token(before)`: a holder is told before its lease ends.

#include <future>
#include <memory>
#include <stop_token>
#include <utility>

#include <doctest/doctest.h>

#include "log_lines.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// Each round trip takes less than T/24 of the default session timeout of 10 s.
fault_plan slow_but_healthy() {
  fault_plan plan;
  plan.network = {.least = 0us, .most = 60ms};
  plan.consensus = {.least = 0us, .most = 250ms};
  return plan;
}

client_options with(std::chrono::milliseconds server_tick, bool keep_ready = true) {
  client_options options;
  options.session_timeout = 10s;
  options.server_tick = server_tick;
  options.keep_lease_ready = keep_ready;
  return options;
}

/// T = 10 s.
struct warned_world {
  simulation time;
  fake_ensemble ensemble;
  simulated_client client;
  simulated_lock lock{client, "/q", {}};

  explicit warned_world(std::uint64_t seed = 1, const fault_plan& plan = {}, const client_options& options = with(0s))
      : time{seed}, ensemble{time, plan}, client{ensemble, options} {
    REQUIRE(client.connect());
    time.run_for(12s);
  }

  grant hold(std::uint64_t fiber = 1) {
    const auto call = lock.enter(fiber, contender_kind::lock);
    REQUIRE(time.run_until([&] { return call->what == outcome::granted; }, time.now() + 10s));
    return lock.current(fiber, contender_kind::lock);
  }
  void unlock() { lock.leave(1, contender_kind::lock); }

  /// @returns whether stop has been requested, once all callbacks that are due have run.
  bool stopped(const std::stop_token& token) {
    const auto done = std::make_shared<std::promise<void>>();
    client.core()->post([done] { done->set_value(); }, "a test");
    done->get_future().wait();
    return token.stop_requested();
  }
  void cut_off() { client.connector().latest()->open_hole(1h); }

  /// @returns how many syncs and proofs there are in twenty session timeouts.
  std::pair<std::uint64_t, std::uint64_t> requests() {
    time.run_for(20s);
    client.connector().forget_sent();
    time.run_for(200s);
    auto& to = client.connector();
    CHECK(to.sent() == to.sent(request_kind::check));
    return {to.sent(operation::sync), to.sent(request_kind::check)};
  }
};

}  // namespace

TEST_SUITE("lease warning") {
  TEST_CASE("a holder that is cut off is warned while it still holds the lock, and loses it later") {
    warned_world w;
    const auto held = w.hold();
    const auto early = held.stop_token(2500ms);
    const auto late = held.stop_token(1s);
    const auto lost = held.stop_token();
    w.time.run_for(30s);
    w.cut_off();
    w.time.run_for(1s);
    const auto end = held.valid_until();
    w.time.run_until(end - 2500ms - 1ms);
    CHECK_FALSE(w.stopped(early));
    w.time.run_until(end - 2500ms);
    CHECK(w.stopped(early));
    CHECK(held);
    CHECK_FALSE(w.stopped(late));
    w.time.run_until(end - 1s);
    CHECK(w.stopped(late));
    CHECK(held);
    CHECK_FALSE(w.stopped(lost));
    w.time.run_until(end);
    CHECK_FALSE(held);
    CHECK(w.stopped(lost));
  }

  TEST_CASE("a healthy holder is not warned, in whatever rhythm it locks") {
    struct kind {
      client_options options;
      duration before;
    };
    for (const auto& [options, before] : {kind{with(0s), 2500ms}, {with(0s, false), 2500ms}, {with(4s), 1250ms}}) {
      for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        CAPTURE(seed);
        CAPTURE(options.keep_lease_ready);
        warned_world w{seed, slow_but_healthy(), options};
        w.time.run_for(w.time.random().between(0s, 5s));
        const auto held = w.hold();
        w.time.run_for(w.time.random().between(0s, 5s));
        const auto token = held.stop_token(before);
        w.time.run_for(30s);
        CHECK_FALSE(w.stopped(token));
        CHECK(held);
      }
    }
  }

  TEST_CASE("a proof that comes after the warning extends the lease, but the token stays stopped") {
    warned_world w;
    const auto held = w.hold();
    const auto token = held.stop_token(2500ms);
    w.client.connector().latest()->open_hole(held.valid_until() - w.time.now() - 2s);
    w.time.run_until(held.valid_until() - 2s);
    w.time.run_for(10s);
    REQUIRE(held);
    CHECK(held.valid_until() > w.time.now() + 2500ms);
    CHECK(w.requests() == std::pair<std::uint64_t, std::uint64_t>{160, 80});  // nobody waits for another
    CHECK(w.stopped(token));
    CHECK(w.stopped(held.stop_token(2500ms)));
    CHECK_FALSE(w.stopped(held.stop_token(2400ms)));
    CHECK_FALSE(w.stopped(held.stop_token()));
  }

  TEST_CASE("a loss without a warning stops every token") {
    warned_world w;
    const auto held = w.hold();
    const auto token = held.stop_token(0s);
    w.ensemble.expire(w.client.run([&] { return w.client.core()->session().info().id; }));
    REQUIRE(w.time.run_until([&] { return held.loss().has_value(); }, w.time.now() + 5s));
    CHECK(w.stopped(token));
    CHECK(w.stopped(held.stop_token(1s)));
  }

  TEST_CASE("an unlock ends a warning: neither that grant nor the next turn is told") {
    warned_world w;
    const auto token = w.hold().stop_token(1s);
    const auto next = w.lock.enter(2, contender_kind::lock);
    w.unlock();
    REQUIRE(next->what == outcome::granted);
    const auto held = w.lock.current(2, contender_kind::lock);
    const auto other = held.stop_token(1s);
    w.cut_off();
    w.time.run_until(held.valid_until() - 2s);
    CHECK_FALSE(w.stopped(other));
    w.time.run_until(held.valid_until() - 1s);
    CHECK(w.stopped(other));
    CHECK(held);
    w.time.run_for(1min);
    CHECK_FALSE(w.stopped(token));
    CHECK_FALSE(held);
    w.lock.leave(2, contender_kind::lock);
    CHECK(w.stopped(held.stop_token(2s)));
  }

  TEST_CASE("who asks when little is left is not warned if a proof arrives, and is at once without a connection") {
    for (const bool connected : {true, false}) {
      CAPTURE(connected);
      warned_world w;
      const auto held = w.hold();
      w.time.run_for(20s);
      const auto until = held.valid_until() - 2s;
      w.time.pause(w.client.process(), until);  // a warning would be due
      w.time.run_until(until - 1ns);
      REQUIRE(held.valid_until() - w.time.now() < 2200ms);
      if (!connected) w.client.connector().latest()->lose_connection();
      w.time.run_for(connected ? 1ns : 50us);
      REQUIRE(w.client.connected() == connected);
      const auto token = held.stop_token(2200ms);
      w.time.run_for(1us);
      CHECK(w.stopped(token) == !connected);
      w.time.run_for(20s);
      CHECK(held);
      CHECK(w.stopped(token) == !connected);
    }
  }

  TEST_CASE("a warning is refused that a healthy holder could not be spared") {
    warned_world w;
    const auto held = w.hold();
    CHECK_NOTHROW(held.stop_token(2500ms));
    CHECK_THROWS_WITH_AS(held.stop_token(2501ms), doctest::Contains("at most 2500ms"), error);
    CHECK_THROWS_WITH_AS(held.stop_token(-1s), doctest::Contains("must not be negative"), error);
    CHECK_THROWS_AS(held.stop_token(std::chrono::hours::max()), error);
    CHECK_THROWS_AS(held.stop_token(-1ns), error);
    CHECK(grant{}.stop_token(1h).stop_requested());
    CHECK(grant{}.stop_token().stop_requested());
  }

  TEST_CASE("the longest warning is T/8 below four ticks, also when T comes to be so short at a reconnect") {
    const log_lines lines{log_level::info};
    warned_world w{1, {}, with(2s)};
    const auto held = w.hold();
    const auto token = held.stop_token(2500ms);
    for (unsigned i = 0; i < w.ensemble.servers(); ++i) w.ensemble.server(i).limit_timeout(6s);
    w.client.connector().latest()->lose_connection();
    REQUIRE(
        w.time.run_until([&] { return w.client.connected() && w.client.session_timeout() == 6s; }, w.time.now() + 5s));
    CHECK(w.stopped(token));
    CHECK(held.loss() == loss_reason::deadline_passed);
    CHECK(lines.with("below five ticks").size() == 1);  // not with T = 10 s
    CHECK(lines.with("session_timeout_ms=6000 server_tick_ms=2000 late_ping_ms=1500").size() == 1);
    w.unlock();
    const auto again = w.hold();
    CHECK_THROWS_WITH_AS(again.stop_token(751ms), doctest::Contains("at most 750ms"), error);
    const auto shorter = again.stop_token(750ms);
    w.time.run_for(30s);
    CHECK_FALSE(w.stopped(shorter));
    CHECK(again);
  }

  TEST_CASE("a warning costs requests only where it needs them, and only while it is waited for") {
    const auto cost = [](duration before) {
      warned_world w;
      const auto held = w.hold();
      const auto token = held.stop_token(before);
      return w.requests();
    };
    warned_world w;
    const auto plain = w.hold();
    const auto usual = w.requests();
    CHECK(usual == std::pair<std::uint64_t, std::uint64_t>{160, 80});
    CHECK(cost(10s / 6) == usual);
    CHECK(cost(2s) == std::pair<std::uint64_t, std::uint64_t>{240, 80});
    CHECK(cost(2500ms) == std::pair<std::uint64_t, std::uint64_t>{240, 120});
    const auto token = plain.stop_token(2500ms);
    w.unlock();
    const auto again = w.hold();
    CHECK(w.requests() == usual);
  }
}
}  // namespace latchkey::testing
