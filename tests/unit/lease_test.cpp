// SPDX-License-Identifier: Apache-2.0
/// The lease of a client over time: what keeps it ready, a slow quorum, a session timeout that changes.
#include <array>
#include <chrono>
#include <utility>

#include <doctest/doctest.h>

#include "log_lines.hpp"
#include "simulation/simulated_lock.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::contender_kind;
using detail::operation;
using outcome = detail::waiter::outcome;

client_options with_timeout(std::chrono::milliseconds timeout, bool keep_ready = true) {
  client_options options;
  options.session_timeout = timeout;
  options.keep_lease_ready = keep_ready;
  return options;
}

/// One client of an ensemble, and a lock.
struct lone_client {
  simulation time{1};
  fake_ensemble ensemble;
  simulated_client client;
  simulated_lock lock{client, "/q", {}};

  explicit lone_client(client_options options, fault_plan plan = {})
      : ensemble{time, plan}, client{ensemble, std::move(options)} {
    REQUIRE(client.connect());
  }

  /// @returns whether the lock is granted within that time.
  bool locked_within(duration most) {
    const auto call = lock.enter(1, contender_kind::lock);
    return time.run_until([&] { return call->what == outcome::granted; }, time.now() + most);
  }
  grant held() { return lock.current(1, contender_kind::lock); }
  std::uint64_t sent(request_kind kind) { return client.connector().sent(kind); }
};

fault_plan slow_quorum(duration write) {
  fault_plan plan;
  plan.consensus = {.least = write, .most = write};
  return plan;
}

}  // namespace

TEST_SUITE("lease") {
  TEST_CASE("the reason of a loss does not change: what is heard after the end of the lease was later") {
    lone_client w{with_timeout(4s)};
    REQUIRE(w.locked_within(1s));
    w.time.run_for(1s);
    const auto held = w.held();
    w.time.pause(w.client.process(), w.time.now() + 12s);
    w.time.run_for(8s);
    CHECK(held.loss() == loss_reason::deadline_passed);
    w.client.run([&] { detail::grant_state::of(held)->lose(loss_reason::node_deleted); });
    CHECK(held.loss() == loss_reason::deadline_passed);
    w.time.run_for(10s);
    CHECK(held.loss() == loss_reason::deadline_passed);
  }

  TEST_CASE("a loss after a stop of the process says so") {
    const log_lines lines{log_level::warning};
    lone_client w{with_timeout(4s)};
    REQUIRE(w.locked_within(1s));
    w.time.run_for(1s);
    w.time.pause(w.client.process(), w.time.now() + 12s);
    w.time.run_for(13s);
    CHECK_FALSE(w.held());
    REQUIRE(lines.with("this process did not run for").size() == 1);
    const std::string line = lines.with("this process did not run for").front();
    CHECK(std::stod(line.substr(line.find("for ") + 4)) >= 10);  // of 12 s
    CHECK(std::stod(line.substr(line.find("for ") + 4)) <= 12);
  }

  TEST_CASE("so it does if an answer or the end of the session tells of it first") {
    const std::vector<std::function<void(detail::lease_keeper&, detail::time_point)>> tellers{
        [](auto& keeper, auto now) {
          for (const auto age : {2s, 1s, 0s}) keeper.on_answered(detail::evidence::committed, now - age);
        },
        [](auto& keeper, auto) { keeper.lose_all(loss_reason::session_expired); }};
    for (const auto& tell : tellers) {
      const log_lines lines{log_level::warning};
      lone_client w{with_timeout(4s)};
      REQUIRE(w.locked_within(1s));
      const auto held = w.held();
      w.time.pause(w.client.process(), w.time.now() + 12s);
      w.time.run_for(8s);
      w.client.run([&] { tell(w.client.core()->lease_keeper(), w.time.now()); });
      CHECK_FALSE(held);
      w.time.run_for(10s);
      CHECK(lines.with("this process did not run for").size() == 1);
    }
  }

  TEST_CASE("an idle client sends a sync every sixth of its session timeout, and its first lock needs no proof") {
    lone_client w{with_timeout(12s)};
    w.time.run_for(60s);
    w.client.connector().forget_sent();
    w.time.run_for(60s);
    CHECK(w.sent(operation::sync) == 30);
    CHECK(w.client.connector().sent() == 0);
    CHECK(w.locked_within(100ms));
    CHECK(w.sent(request_kind::check) == 0);
    CHECK(w.held().valid_until() > w.time.now() + 4s);
  }

  TEST_CASE("a holder proves its lease four times in a session timeout, whatever the phase") {
    for (const auto idle : {0s, 1s, 2s, 13s}) {
      lone_client w{with_timeout(24s)};
      w.time.run_for(idle);
      REQUIRE(w.locked_within(1s));
      w.time.run_for(48s);
      w.client.connector().forget_sent();
      const auto held = w.held();
      for (int i = 0; i < 240; ++i) {
        w.time.run_for(1s);
        CHECK(held.valid_until() > w.time.now() + 6s);
      }
      CHECK(w.sent(request_kind::check) == 40);
      CHECK(w.sent(operation::sync) == 80);
    }
  }

  TEST_CASE("what is granted after an outage of the network that the connection has survived is kept") {
    struct {
      std::chrono::seconds tick;
      std::chrono::milliseconds one_way;
    } const worlds[]{{0s, 1ms}, {4s, 1ms}, {8s, 1ms}, {0s, 120ms}, {8s, 120ms}, {0s, 450ms}, {8s, 450ms}};
    for (const auto& [tick, one_way] : worlds) {
      for (auto lasts = 1'000ms; lasts < 15s; lasts += 100ms) {
        CAPTURE(tick.count());
        CAPTURE(one_way.count());
        CAPTURE(lasts.count());
        auto options = with_timeout(24s);
        options.server_tick = tick;
        fault_plan plan;
        plan.network = {.least = one_way, .most = one_way};
        lone_client w{options, plan};
        REQUIRE(w.locked_within(5s));
        w.time.run_for(50s);
        w.client.connector().latest()->open_hole(lasts);
        w.time.run_for(lasts + 20ms + 2 * one_way);
        w.lock.leave(1, contender_kind::lock);
        REQUIRE(w.locked_within(24s));
        const auto held = w.held();
        w.time.run_for(48s);
        CHECK(held);
      }
    }
  }

  TEST_CASE("a client that is told not to keep its lease ready is silent, and locks at once all the same") {
    lone_client w{with_timeout(12s, false)};
    w.time.run_for(60s);
    w.client.connector().forget_sent();
    w.time.run_for(60s);
    CHECK(w.sent(operation::sync) == 0);
    CHECK(w.locked_within(100ms));
    const auto held = w.held();
    w.time.run_for(60s);
    CHECK(held);
  }

  TEST_CASE("with a slow quorum a lock is granted with what there is of a lease, and proofs do not pile up") {
    // A lease takes three answers one after another, and the wait for a ping.
    const std::array<std::pair<std::chrono::milliseconds, std::chrono::milliseconds>, 5> writes_and_ticks{
        {{100ms, 0ms}, {1500ms, 0ms}, {1800ms, 0ms}, {1800ms, 2s}, {1200ms, 4s}}};
    for (const auto& [write, tick] : writes_and_ticks) {
      CAPTURE(write.count());
      CAPTURE(tick.count());
      auto options = with_timeout(10s);
      options.server_tick = tick;
      lone_client w{options, slow_quorum(write)};
      w.time.run_for(30s);
      w.client.connector().forget_sent();
      CHECK(w.locked_within(30s));
      w.lock.leave(1, contender_kind::lock);
      w.time.run_for(120s);
      CHECK(w.locked_within(30s));
      CHECK(w.sent(request_kind::check) <= 8 * 18);  // one a beat
      const auto before = w.sent(request_kind::check);
      w.time.run_for(100s);
      CHECK(w.sent(request_kind::check) - before <= 8 * 10);
    }
  }

  TEST_CASE("a holder keeps its lease while a sync and a write take T/10 each, whether or not T is below four ticks") {
    for (const auto tick : {0ms, 2000ms, 5000ms}) {
      for (const auto write : {100ms, 400ms, 700ms, 850ms, 1000ms}) {
        CAPTURE(tick.count());
        CAPTURE(write.count());
        auto options = with_timeout(10s);
        options.server_tick = tick;
        lone_client w{options, slow_quorum(write)};
        w.time.run_for(30s);
        REQUIRE(w.locked_within(30s));
        const auto held = w.held();
        w.time.run_for(5min);
        CHECK(held);
      }
    }
  }

  TEST_CASE("a session timeout that changes with the server ends the grants; then the new one counts") {
    lone_client w{with_timeout(12s)};
    simulated_client other{w.ensemble, with_timeout(12s)};
    simulated_lock theirs{other, "/q", {}};
    REQUIRE(other.connect());
    REQUIRE(w.locked_within(1s));
    const auto before = w.held();
    w.time.run_for(12s);
    CHECK(before.valid_until() > w.time.now() + 4s);
    for (unsigned i = 0; i < w.ensemble.servers(); ++i) w.ensemble.server(i).limit_timeout(4s);
    auto& connection = *w.client.connector().latest();
    connection.lose_connection();
    REQUIRE(w.time.run_until([&] { return !w.client.connected(); }, w.time.now() + 1s));
    REQUIRE(w.client.connect());
    CHECK(w.client.session_timeout() == 4s);
    CHECK_FALSE(before);
    CHECK(before.loss() == loss_reason::deadline_passed);
    w.lock.leave(1, contender_kind::lock);
    REQUIRE(w.locked_within(10s));
    const auto after = w.held();
    const auto next = theirs.enter(1, contender_kind::lock);
    w.time.run_for(8s);
    CHECK(after);
    w.ensemble.cut_server(connection.server()->number(), 1h);
    connection.open_hole(1h);
    auto until = after.valid_until();
    REQUIRE(w.time.run_until(
        [&] {
          until = std::max(until, after.valid_until());
          return next->what == outcome::granted;
        },
        w.time.now() + 1min));
    CHECK(until < w.time.now());
  }

  TEST_CASE("a session timeout that grows is that of a new session: a new leader knows only the one of the creation") {
    simulation time{1};
    fake_ensemble ensemble{time};
    const auto limit = [&](duration most, duration least) {
      for (unsigned i = 0; i < ensemble.servers(); ++i) ensemble.server(i).limit_timeout(most, least);
    };
    limit(4s, 0s);
    simulated_client client{ensemble, with_timeout(12s)};
    simulated_client other{ensemble, with_timeout(12s)};
    simulated_lock lock{client, "/q", {}};
    simulated_lock theirs{other, "/q", {}};
    REQUIRE(client.connect());
    REQUIRE(other.connect());
    limit(12s, 12s);
    client.connector().latest()->lose_connection();
    REQUIRE(time.run_until([&] { return !client.connected(); }, time.now() + 1s));
    REQUIRE(client.connect());
    CHECK(client.session_timeout() == 12s);
    const auto mine = lock.enter(1, contender_kind::lock);
    REQUIRE(time.run_until([&] { return mine->what == outcome::granted; }, time.now() + 10s));
    const auto held = lock.current(1, contender_kind::lock);
    const auto next = theirs.enter(1, contender_kind::lock);
    time.run_for(20s);
    REQUIRE(held);
    client.connector().latest()->open_hole(1h);
    ensemble.elect(1ms);
    REQUIRE(time.run_until([&] { return next->what == outcome::granted; }, time.now() + 1min));
    CHECK(held.valid_until() < time.now());
  }
}
}  // namespace latchkey::testing
