// SPDX-License-Identifier: Apache-2.0
// The rules of the fake ensemble: sessions, their connections, and what is lost with those.
#include <doctest/doctest.h>

#include "simulation/fault_injector.hpp"
#include "simulation/stage.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::connection_state;
using detail::operation;
using detail::reply_code;

}  // namespace

TEST_SUITE("fake sessions") {
  TEST_CASE("an idle session lives by its pings, as long as it is connected") {
    stage_with_queue here;
    here.time.run_for(10min);
    CHECK(here.ensemble.alive(here.client.info.id));
    CHECK(here.client.heard_of(connection_state::disconnected) == 0);
  }

  TEST_CASE("a session expires no earlier than its timeout after the last touch its leader has heard of") {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      fault_plan plan;
      plan.tick = 1s;
      stage_with_queue here{plan, seed};
      here.time.run_for(here.time.random().between(0ms, 5s));
      here.client.wire().open_hole(1h);
      const auto cut = here.time.now();
      here.time.run_until([&] { return !here.ensemble.alive(here.client.info.id); }, cut + 1h);
      CHECK(here.time.now() - cut >= 4000ms - 4000ms / 3 - 5ms);  // a ping every third
      CHECK(here.time.now() - cut <= 4s + 500ms);
    }
  }

  TEST_CASE("a leader may know only of a touch that is up to half a timeout older than the newest proof") {
    duration worst{};
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      fault_plan plan;
      plan.tick = 2s;
      stage_with_queue here{plan, seed};
      here.time.run_for(here.time.random().between(0ms, 5s));
      const auto sent = here.time.now();
      REQUIRE(here.client.code(here.client.check({"/q"})) == reply_code::ok);
      if (here.client.wire().server()->is_leader()) continue;
      here.ensemble.cut_server(here.client.wire().server()->number(), 1h);
      here.time.run_until([&] { return !here.ensemble.alive(here.client.info.id); }, sent + 1h);
      worst = std::max(worst, sent + 4s - here.time.now());
    }
    CHECK(worst > 4000ms / 3);  // so that validity must not rest on 2/3 of the timeout after a proof alone
    CHECK(worst <= 2001ms);
  }

  TEST_CASE("an expired session loses its nodes at once, and hears of it when it has reconnected") {
    fault_plan plan;
    plan.reconnecting = {.least = 2s, .most = 2s};
    stage_with_queue here{plan};
    here.client.wait(here.client.create("/q/n-"));
    here.client.wire().lose_connection();
    here.ensemble.expire(here.client.info.id);
    CHECK(here.queue().empty());
    here.time.run_for(1s);
    CHECK(here.client.heard_of(connection_state::expired) == 0);
    REQUIRE(here.client.wait_for(connection_state::expired));
    CHECK(here.client.get("/") == 0);
    CHECK(here.client.connector.open_sessions() == 0);
  }

  TEST_CASE("a connected session that expires is disconnected, then told") {
    stage_with_queue here;
    here.ensemble.expire(here.client.info.id);
    REQUIRE(here.client.wait_for(connection_state::expired));
    CHECK(here.client.heard_of(connection_state::disconnected) == 1);
  }

  TEST_CASE("after an expiry the next session has another id") {
    stage_with_queue here;
    const auto before = here.client.info.id;
    here.ensemble.expire(before);
    REQUIRE(here.client.wait_for(connection_state::expired));
    here.client.connector.retire(std::move(here.client.handle), [] {});
    here.client.connector.open(2, here.client);
    REQUIRE(here.client.wait_for(connection_state::connected));
    CHECK(here.client.info.id != before);
    CHECK(here.client.info.timeout == 4000ms);
  }

  TEST_CASE("retiring a connected session deletes its nodes, then calls back, then all is quiet") {
    stage_with_queue here;
    here.client.wait(here.client.create("/q/n-"));
    const auto id = here.client.info.id;
    bool closed = false;
    here.client.get("/");
    here.client.connector.retire(std::move(here.client.handle), [&] { closed = true; });
    CHECK_FALSE(closed);
    REQUIRE(here.time.run_until([&] { return closed; }, here.time.now() + 5s));
    CHECK(here.queue().empty());
    CHECK_FALSE(here.ensemble.alive(id));
    const auto lines = here.client.log.size();
    here.time.run_for(1min);
    CHECK(here.client.log.size() == lines);
  }

  TEST_CASE("retiring a disconnected session leaves its nodes until it expires") {
    stage_with_queue here;
    here.client.wait(here.client.create("/q/n-"));
    here.client.wire().open_hole(1h);
    bool closed = false;
    here.client.connector.retire(std::move(here.client.handle), [&] { closed = true; });
    REQUIRE(here.time.run_until([&] { return closed; }, here.time.now() + 5s));
    CHECK(here.queue().size() == 1);
    here.time.run_for(5s);
    CHECK(here.queue().empty());
  }

  TEST_CASE("a handle that is destroyed, and a connector, are not called again") {
    stage_with_queue here;
    here.client.get("/");
    here.client.handle.reset();
    const auto lines = here.client.log.size();
    here.time.run_for(10s);
    CHECK(here.client.log.size() == lines);
    {
      recording_client gone{here.ensemble};
      here.time.run_for(1ms);
    }
    here.time.run_for(10s);
  }

  TEST_CASE("opening fails when names do not resolve") {
    simulation time{1};
    fake_ensemble ensemble{time};
    ensemble.fail_next_opens(1);
    recording_client client{ensemble};
    time.run_for(1s);
    CHECK_FALSE(client.failure.empty());
    CHECK_FALSE(client.handle);
    client.connector.open(2, client);
    CHECK(client.connect());
  }

  TEST_CASE("credentials that are not accepted end a session") {
    simulation time{1};
    fake_ensemble ensemble{time};
    ensemble.refuse_credentials(true);
    recording_client client{ensemble};
    REQUIRE(client.wait_for(connection_state::auth_failed));
    time.run_for(10ms);
    CHECK(client.get("/") == 0);
  }

  TEST_CASE("events may come before the handle does") {
    int before = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      simulation time{seed};
      fake_ensemble ensemble{time};
      recording_client client{ensemble};
      REQUIRE(client.connect());
      before += client.log.front().what == recording_client::heard::kind::connection ? 1 : 0;
    }
    CHECK(before > 0);
    CHECK(before < 50);
  }

  TEST_CASE("after random faults and a healing everything works again") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      simulation time{seed};
      fake_ensemble ensemble{time, fault_plan::draw(time.random(), 4s)};
      ensemble.create("/q");
      fault_injector faults{ensemble, {"/q"}};
      recording_client client{ensemble};
      time.run_for(30s);
      ensemble.heal();
      time.run_for(20s);
      if (client.state == connection_state::expired || !client.handle) continue;
      CHECK(client.state == connection_state::connected);
      client.sync();
      CHECK(client.code(client.get("/q")) == reply_code::ok);
    }
  }
}
}  // namespace latchkey::testing
