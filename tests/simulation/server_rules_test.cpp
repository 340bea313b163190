// SPDX-License-Identifier: Apache-2.0
// The rules of the fake ensemble, so that it can be trusted against HAZARDS.md: watches, lagging servers, elections.
#include <doctest/doctest.h>

#include "simulation/stage.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::connection_state;
using detail::create_mode;
using detail::operation;
using detail::reply_code;
using detail::watch_event;

/// An ensemble with one client that is connected.
}  // namespace

TEST_SUITE("fake leaders") {
  TEST_CASE("one that has lost its quorum answers syncs with old data until it notices, and commits nothing") {
    int tried = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      fault_plan plan;
      plan.sync_limit = 3s;
      stage here{plan, seed};
      if (!here.client.wire().server()->is_leader()) continue;
      ++tried;
      here.client.wait(here.client.create("/n", create_mode::persistent));
      here.ensemble.cut_server(here.client.wire().server()->number(), 1min, 1ms);
      here.ensemble.change("/n", "new");
      here.time.run_for(1s);
      CHECK(here.client.code(here.client.sync()) == reply_code::ok);
      CHECK(here.client.wait(here.client.get("/n"))->data == "data");
      const auto created = here.client.create("/m");
      const auto behind = here.client.sync();
      here.time.run_for(1s);
      CHECK(here.client.find(created) == nullptr);
      CHECK(here.client.find(behind) == nullptr);
      here.time.run_for(2s);
      CHECK(here.client.code(created) == reply_code::unknown_outcome);
      CHECK(here.client.code(behind) == reply_code::unknown_outcome);
    }
    CHECK(tried > 0);
  }
}

TEST_SUITE("fake watches") {
  TEST_CASE("a data watch tells once, of a change or of the end") {
    stage here;
    here.ensemble.create("/n");
    here.conclude();
    here.client.wait(here.client.get("/n", true));
    here.ensemble.change("/n", "1");
    here.ensemble.change("/n", "2");
    here.conclude();
    CHECK(here.client.events("/n") == std::vector{watch_event::changed});
    here.client.wait(here.client.get("/n", true));
    here.ensemble.remove("/n");
    here.time.run_for(1s);
    CHECK(here.client.events("/n") == std::vector{watch_event::changed, watch_event::deleted});
    CHECK(here.ensemble.watches() == 0);
    CHECK(here.client.wire().watches() == 0);
  }

  TEST_CASE("a child watch tells once, of the children or of the end of the node") {
    stage here;
    here.ensemble.create("/q");
    here.conclude();
    here.client.wait(here.client.children("/q", true));
    here.ensemble.create("/q/a");
    here.ensemble.create("/q/b");
    here.time.run_for(1s);
    CHECK(here.client.events("/q") == std::vector{watch_event::children_changed});
    here.ensemble.remove("/q/a");
    here.ensemble.remove("/q/b");
    here.conclude();
    here.client.wait(here.client.children("/q", true));
    here.ensemble.remove("/q");
    here.time.run_for(1s);
    CHECK(here.client.events("/q") == std::vector{watch_event::children_changed, watch_event::deleted});
  }

  TEST_CASE("a node that is watched in both ways is reported deleted once") {
    stage here;
    here.ensemble.create("/q");
    here.conclude();
    here.client.get("/q", true);
    here.client.wait(here.client.children("/q", true));
    here.ensemble.remove("/q");
    here.time.run_for(1s);
    CHECK(here.client.events("/q") == std::vector{watch_event::deleted});
  }

  TEST_CASE("the watches of the data and of the children of a node do not end one another") {
    stage here;
    here.ensemble.create("/q");
    here.conclude();
    here.client.get("/q", true);
    here.client.wait(here.client.children("/q", true));
    here.ensemble.create("/q/a");
    here.conclude();
    CHECK(here.client.events("/q") == std::vector{watch_event::children_changed});
    here.client.wait(here.client.children("/q", true));
    here.ensemble.change("/q", "x");
    here.conclude();
    CHECK(here.client.events("/q") == std::vector{watch_event::children_changed, watch_event::changed});
    here.ensemble.create("/q/b");
    here.conclude();
    CHECK(here.client.events("/q").size() == 3);
    CHECK(here.ensemble.watches() == 0);
  }

  TEST_CASE("a read of a missing node leaves no watch") {
    stage here;
    here.client.wait(here.client.get("/n", true));
    here.client.wait(here.client.children("/n", true));
    CHECK(here.ensemble.watches() == 0);
    here.ensemble.create("/n");
    here.time.run_for(1s);
    CHECK(here.client.events("/n").empty());
  }

  TEST_CASE("a watch speaks before the answer to any later request, however late it is") {
    fault_plan plan;
    plan.watch_delay = {.least = 100ms, .most = 200ms};
    stage here{plan};
    here.ensemble.create("/n");
    here.conclude();
    here.client.wait(here.client.get("/n", true));
    here.ensemble.remove("/n");
    reply_code found = reply_code::ok;
    while (found == reply_code::ok) found = here.client.code(here.client.get("/n"));
    CHECK(here.client.events("/n").size() == 1);
  }

  TEST_CASE("a child watch speaks before the answer to any later request, however late it is") {
    fault_plan plan;
    plan.watch_delay = {.least = 100ms, .most = 200ms};
    stage here{plan};
    here.ensemble.create("/q");
    here.conclude();
    here.client.wait(here.client.children("/q", true));
    here.ensemble.create("/q/n");
    std::size_t children = 0;
    while (children == 0) {
      CHECK(here.client.events("/q").empty());
      children = here.client.wait(here.client.children("/q"))->children.size();
    }
    CHECK(here.client.events("/q") == std::vector{watch_event::children_changed});
  }

  TEST_CASE("what a watch missed while its connection was lost is told after the next one, before any answer") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      stage here{{}, seed};
      auto& client = here.client;
      for (const auto* path : {"/gone", "/changed", "/same", "/q", "/again"}) here.ensemble.create(path);
      here.conclude();
      for (const auto* path : {"/gone", "/changed", "/same", "/again"}) client.get(path, true);
      client.wait(client.children("/q", true));
      client.wire().lose_connection();
      here.ensemble.remove("/gone");
      here.ensemble.remove("/again");
      here.ensemble.create("/again");
      here.ensemble.change("/changed", "x");
      here.ensemble.create("/q/n");
      REQUIRE(client.wait_for(connection_state::connected));
      client.wait(client.sync());
      CHECK(client.events("/gone") == std::vector{watch_event::deleted});
      CHECK(client.events("/changed") == std::vector{watch_event::changed});
      CHECK(client.events("/again").size() == 1);  // deleted, or changed: the server knows no more than the numbers
      CHECK(client.events("/q") == std::vector{watch_event::children_changed});
      CHECK(client.events("/same").empty());
      here.ensemble.change("/same", "x");
      here.time.run_for(1s);
      CHECK(client.events("/same") == std::vector{watch_event::changed});
    }
  }
}

TEST_SUITE("fake servers") {
  TEST_CASE("a lagging follower answers old data until a sync, the leader until a transaction") {
    int followers = 0;
    int leaders = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      stage here{{}, seed};
      const auto* const server = here.client.wire().server();
      here.ensemble.lag(server->number(), {.least = 1s, .most = 1s});
      here.ensemble.create("/n");
      CHECK(here.client.code(here.client.get("/n")) == reply_code::no_node);
      here.client.sync();
      if (server->is_leader()) {
        ++leaders;
        CHECK(here.client.code(here.client.get("/n")) == reply_code::no_node);
        here.client.check({"/n"});
      } else {
        ++followers;
      }
      CHECK(here.client.code(here.client.get("/n")) == reply_code::ok);
    }
    CHECK(followers > 0);
    CHECK(leaders > 0);
  }

  TEST_CASE("a client never goes back in time when it changes its server") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      stage here{{}, seed};
      for (unsigned i = 0; i < 3; ++i) {
        if (i != here.client.wire().server()->number()) here.ensemble.lag(i, {.least = 5s, .most = 5s});
      }
      here.ensemble.create("/q");
      here.client.sync();
      const auto made = here.client.wait(here.client.create("/q/n-"));
      REQUIRE(made);
      here.client.wire().lose_connection();
      REQUIRE(here.client.wait_for(connection_state::connected));
      CHECK(here.client.code(here.client.get(made->path)) == reply_code::ok);
    }
  }

  TEST_CASE("a server cut off from its quorum takes a write that it cannot commit: the client gives up and moves on") {
    stage here;
    here.ensemble.create("/q");
    here.conclude();
    here.ensemble.cut_server(here.client.wire().server()->number(), 30s);
    const auto write = here.client.create("/q/n-");
    here.time.run_for(2500ms);
    CHECK(here.client.find(write) == nullptr);
    CHECK(here.client.code(here.client.get("/q")) == reply_code::unknown_outcome);  // behind the write
    here.time.run_for(1s);
    CHECK(here.client.code(here.client.sync()) == reply_code::ok);
    CHECK(here.ensemble.children("/q").empty());
  }

  TEST_CASE("an idle client of a cut-off server stays connected to a past in which its node is still there") {
    fault_plan plan;
    plan.sync_limit = 10s;
    stage here{plan};
    here.ensemble.create("/q");
    const auto made = here.client.wait(here.client.create("/q/n-"));
    here.ensemble.cut_server(here.client.wire().server()->number(), 30s);
    here.time.run_for(8s);
    CHECK_FALSE(here.ensemble.exists(made->path));
    CHECK(here.client.state == connection_state::connected);
    CHECK(here.client.code(here.client.get(made->path)) == reply_code::ok);
    here.time.run_for(4s);
    CHECK(here.client.heard_of(connection_state::disconnected) == 1);
    CHECK(here.client.heard_of(connection_state::expired) == 1);
  }

  TEST_CASE("a short cut is only a delay") {
    stage here;
    here.ensemble.create("/q");
    here.ensemble.cut_server(here.client.wire().server()->number(), 1s, 100ms);
    const auto write = here.client.create("/q/n-");
    here.time.run_for(900ms);
    CHECK(here.client.find(write) == nullptr);
    here.time.run_for(200ms);
    CHECK(here.client.find(write) != nullptr);
    CHECK(here.client.heard_of(connection_state::disconnected) == 0);
  }

  TEST_CASE("after an election all sessions live for a whole timeout, and zxids have grown by an epoch") {
    fault_plan plan;
    plan.reconnecting = {.least = 1h, .most = 1h};
    stage here{plan};
    const auto before = here.ensemble.log().back().zxid;
    here.time.run_for(3s);
    here.ensemble.elect(2s);
    const auto end = here.time.now() + 2s;
    here.time.run_until([&] { return !here.ensemble.alive(here.client.info.id); }, end + 1h);
    CHECK(here.time.now() >= end + 4s);
    here.ensemble.create("/n");
    CHECK((here.ensemble.log().back().zxid >> 32) == (before >> 32) + 1);
  }
}
}  // namespace latchkey::testing
