// SPDX-License-Identifier: Apache-2.0
// The rules of the fake ensemble: connections, and what is lost with those.
#include <doctest/doctest.h>

#include "simulation/fault_injector.hpp"
#include "simulation/stage.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::connection_state;
using detail::operation;
using detail::reply_code;

fault_plan without_late_writes() {
  fault_plan plan;
  plan.late_write = 0;
  return plan;
}

}  // namespace

TEST_SUITE("fake connections") {
  TEST_CASE("a request lost before its effect is answered unknown and leaves nothing") {
    stage_with_queue here{without_late_writes()};
    here.client.connector.set_trap(operation::create, trap::lost_before_effect);
    CHECK(here.client.code(here.client.create("/q/n-")) == reply_code::unknown_outcome);
    here.time.run_for(5s);
    CHECK(here.queue().empty());
    CHECK(here.client.heard_of(connection_state::disconnected) == 1);
  }

  TEST_CASE("a reply lost after the effect is answered unknown, and the effect is there") {
    stage_with_queue here;
    here.client.connector.set_trap(operation::create, trap::lost_after_effect);
    CHECK(here.client.code(here.client.create("/q/n-")) == reply_code::unknown_outcome);
    CHECK(here.queue().size() == 1);
  }

  TEST_CASE("a late write comes before the first request of the next connection has been heard of, or never") {
    int seen = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      fault_plan plan;
      plan.latest_write = 1s;
      stage_with_queue here{plan, seed};
      here.client.connector.set_trap(operation::create, trap::lost_then_late);
      CHECK(here.client.code(here.client.create("/q/n-")) == reply_code::unknown_outcome);
      REQUIRE(here.client.connect());
      here.client.sync();
      const auto listed = here.client.wait(here.client.children("/q"));
      REQUIRE(listed);
      if (listed->code != reply_code::ok) continue;
      here.time.run_for(2s);
      CHECK(listed->children == here.queue());
      seen += static_cast<int>(listed->children.size());
    }
    CHECK(seen > 20);
    CHECK(seen < 100);
  }

  TEST_CASE("without a sync, a list after reconnecting may miss a write that commits later") {
    int missed = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      fault_plan plan;
      plan.latest_write = 1s;
      stage_with_queue here{plan, seed};
      here.client.connector.set_trap(operation::create, trap::lost_then_late);
      here.client.wait(here.client.create("/q/n-"));
      REQUIRE(here.client.connect());
      const auto listed = here.client.wait(here.client.children("/q"));
      here.time.run_for(2s);
      missed += listed->children.size() < here.queue().size() ? 1 : 0;
    }
    CHECK(missed > 20);
  }

  TEST_CASE("a later request never has its effect when an earlier one has not") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      fault_plan plan;
      plan.late_write = 1;
      stage_with_queue here{plan, seed};
      for (int i = 0; i < 10; ++i) here.client.create("/q/" + std::string(1, static_cast<char>('a' + i)) + "-");
      here.time.run_for(here.time.random().between(0ms, 5ms));
      here.client.wire().lose_connection();
      here.time.run_for(3s);
      const auto names = here.queue();
      for (std::size_t i = 0; i < names.size(); ++i) CHECK(names[i][0] == static_cast<char>('a' + i));
    }
  }

  TEST_CASE("every request that was sent is answered once, in order, also over lost connections") {
    fault_plan plan;
    plan.lost_before = plan.lost_after = 0.1;
    plan.unannounced = 0.5;
    plan.refuse_sending = 0.3;
    stage_with_queue here{plan};
    std::vector<std::uint64_t> sent;
    for (int i = 0; i < 500; ++i) {
      if (const auto id = here.client.create("/q/n-")) sent.push_back(id);
      here.time.run_for(here.time.random().between(0ms, 20ms));
    }
    here.ensemble.heal();
    here.time.run_for(1min);
    REQUIRE(here.client.replies.size() == sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) CHECK(here.client.replies[i].first == sent[i]);
    CHECK(here.client.heard_of(connection_state::disconnected) > 5);
    CHECK(here.client.heard_of(connection_state::connected) > here.client.heard_of(connection_state::disconnected) + 5);
  }

  TEST_CASE("sending while disconnected is refused or waits") {
    fault_plan plan;
    plan.refuse_sending = 1;
    plan.reconnecting = {.least = 1s, .most = 1s};
    stage_with_queue here{plan};
    here.client.wire().lose_connection();
    here.time.run_for(10ms);
    CHECK(here.client.get("/") == 0);
    here.ensemble.plan().refuse_sending = 0;
    CHECK(here.client.code(here.client.get("/")) == reply_code::ok);
  }

  TEST_CASE("a stuck request is freed by a sync, and by that alone") {
    stage_with_queue here;
    here.client.connector.set_trap(operation::get, trap::stuck);
    const auto read = here.client.get("/");
    const auto behind = here.client.get("/");
    here.time.run_for(1s);
    CHECK(here.client.find(read) == nullptr);
    CHECK(here.client.code(here.client.sync()) == reply_code::ok);
    CHECK(here.client.find(read) != nullptr);
    CHECK(here.client.find(behind) != nullptr);
  }

  TEST_CASE("a stuck request keeps pings away: the client gives up after two thirds of its timeout") {
    stage_with_queue here;
    here.client.connector.set_trap(operation::get, trap::stuck);
    const auto start = here.time.now();
    CHECK(here.client.code(here.client.get("/")) == reply_code::unknown_outcome);
    CHECK(here.time.now() - start > 2500ms);
    CHECK(here.time.now() - start < 2700ms);
  }

  TEST_CASE("a hole that is short is a delay, a long one a lost connection after two thirds of the timeout") {
    stage_with_queue here;
    here.client.wire().open_hole(1s);
    CHECK(here.client.code(here.client.get("/")) == reply_code::ok);
    CHECK(here.client.heard_of(connection_state::disconnected) == 0);
    here.client.wire().open_hole(30s);
    CHECK(here.client.code(here.client.get("/")) == reply_code::unknown_outcome);
    here.time.run_for(5s);
    CHECK_FALSE(here.ensemble.alive(here.client.info.id));
    CHECK(here.client.heard_of(connection_state::expired) == 0);  // it cannot know yet
    here.time.run_for(30s);
    CHECK(here.client.heard_of(connection_state::expired) == 1);
  }

  TEST_CASE("nothing is delivered to a paused process, whose session expires") {
    stage_with_queue here;
    here.time.pause(here.client.process, here.time.now() + 10s);
    const auto read = here.client.get("/");
    here.time.run_for(9s);
    CHECK(here.client.find(read) == nullptr);
    CHECK_FALSE(here.ensemble.alive(here.client.info.id));
    here.time.run_for(3s);
    CHECK(here.client.state == connection_state::expired);
  }
}
}  // namespace latchkey::testing
