// SPDX-License-Identifier: Apache-2.0
// The rules of the fake ensemble, so that it can be trusted against HAZARDS.md: simulation, tree and requests.
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

TEST_SUITE("fake") {
  TEST_CASE("events run in the order of their times, and of their making") {
    simulation time{1};
    std::string order;
    const auto start = time.now();
    time.after(2s, [&] { order += "c"; });
    time.after(1s, [&] { order += "a"; });
    time.after(1s, [&] { order += "b"; });
    time.run_for(3s);
    CHECK(order == "abc");
    CHECK(time.now() == start + 3s);
    CHECK_FALSE(time.step());
  }

  TEST_CASE("timers of attached processes run in between, and not while their process is paused") {
    simulation time{1};
    std::vector<time_point> ran;
    std::optional<time_point> due = time.now() + 1s;
    const auto process = time.attach({[&] { return due; },
                                      [&] {
                                        ran.push_back(time.now());
                                        due.reset();
                                      }});
    time.pause(process, time.now() + 5s);
    time.run_for(10s);
    REQUIRE(ran.size() == 1);
    CHECK(ran[0] == time.now() - 5s);
  }

  TEST_CASE("time that stands still is an error") {
    simulation time{1};
    time.attach({[&] { return time.now(); }, [] {}});
    CHECK_THROWS_AS(time.run_for(1s), std::logic_error);
  }

  TEST_CASE("the same seed gives the same history, another seed another") {
    const auto history = [](std::uint64_t seed) {
      fault_plan plan;
      plan.lost_after = plan.lost_before = 0.2;
      stage here{plan, seed};
      here.ensemble.create("/q");
      for (int i = 0; i < 20; ++i) {
        here.client.create("/q/n-");
        here.time.run_for(50ms);
      }
      std::vector<std::pair<std::int64_t, time_point>> log;
      for (const auto& each : here.ensemble.log()) log.emplace_back(each.zxid, each.time);
      return log;
    };
    CHECK(history(7) == history(7));
    CHECK(history(7) != history(8));
  }

  TEST_CASE("a create is numbered by its parent's counter and belongs to its session") {
    stage here;
    here.ensemble.create("/q");
    const auto first = here.client.wait(here.client.create("/q/n-"));
    const auto second = here.client.wait(here.client.create("/q/n-"));
    REQUIRE(first);
    CHECK(first->path == "/q/n-0000000000");
    CHECK(second->path == "/q/n-0000000001");
    CHECK(first->stat.ephemeral_owner == here.client.info.id);
    CHECK(second->stat.czxid > first->stat.czxid);
    CHECK(here.ensemble.czxid(first->path) == first->stat.czxid);
    CHECK(here.ensemble.data(first->path) == "data");
  }

  TEST_CASE("every request is refused where ZooKeeper refuses it") {
    stage here;
    auto& client = here.client;
    CHECK(client.code(client.create("/none/n-")) == reply_code::no_node);
    CHECK(client.code(client.create("/q", create_mode::container)) == reply_code::ok);
    CHECK(client.code(client.create("/q", create_mode::container)) == reply_code::node_exists);
    const auto mine = client.wait(client.create("/q/n-"))->path;
    CHECK(client.code(client.create(mine + "/n-")) == reply_code::no_children_for_ephemerals);
    CHECK(client.code(client.remove("/q")) == reply_code::not_empty);
    CHECK(client.code(client.remove("/other")) == reply_code::no_node);
    CHECK(client.code(client.get("/other")) == reply_code::no_node);
    CHECK(client.code(client.children("/other", true)) == reply_code::no_node);
    CHECK(client.code(client.create("bad", create_mode::persistent)) == reply_code::bad_arguments);
    CHECK(client.code(client.get("/bad/")) == reply_code::bad_arguments);
    CHECK(client.code(client.remove(mine)) == reply_code::ok);
    CHECK(client.code(client.remove("/q")) == reply_code::ok);
    CHECK(here.ensemble.watches() == 0);
  }

  TEST_CASE("permissions are those of the parent for create and remove, of the node for the others") {
    stage here;
    here.ensemble.create("/q");
    here.ensemble.create("/q/n");
    for (const request_kind kind : std::initializer_list<request_kind>{
             operation::create, operation::remove, operation::children, operation::get, request_kind::check}) {
      here.ensemble.forbid(kind, "/q");
    }
    auto& client = here.client;
    CHECK(client.code(client.create("/q/n-")) == reply_code::no_permission);
    CHECK(client.code(client.remove("/q/n")) == reply_code::no_permission);
    CHECK(client.code(client.children("/q")) == reply_code::no_permission);
    CHECK(client.code(client.get("/q")) == reply_code::no_permission);
    CHECK(client.code(client.check({"/q"})) == reply_code::no_permission);
    CHECK(client.code(client.get("/q/n")) == reply_code::ok);
    here.ensemble.allow_everything();
    CHECK(client.code(client.remove("/q/n")) == reply_code::ok);
  }

  TEST_CASE("the counter sticks at 2147483647, where only equal names collide") {
    stage here;
    here.ensemble.create("/q");
    here.ensemble.set_counter("/q", 2147483646);
    auto& client = here.client;
    CHECK(client.wait(client.create("/q/a-"))->path == "/q/a-2147483646");
    CHECK(client.wait(client.create("/q/a-"))->path == "/q/a-2147483647");
    CHECK(client.code(client.create("/q/a-")) == reply_code::node_exists);
    CHECK(client.wait(client.create("/q/b-"))->path == "/q/b-2147483647");
  }

  TEST_CASE("the counter of a re-created parent begins at 0") {
    stage here;
    here.ensemble.create("/q");
    here.ensemble.set_counter("/q", 77);
    here.ensemble.remove("/q");
    here.ensemble.create("/q");
    CHECK(here.client.wait(here.client.create("/q/n-"))->path == "/q/n-0000000000");
  }

  TEST_CASE("a check says which path failed first, and is committed either way") {
    stage here;
    here.ensemble.create("/a");
    here.ensemble.create("/c");
    const auto entries = here.ensemble.log().size();
    const auto good = here.client.wait(here.client.check({"/a", "/c"}));
    const auto bad = here.client.wait(here.client.check({"/a", "/b", "/c"}));
    CHECK(good->code == reply_code::ok);
    CHECK(good->results == std::vector{reply_code::ok, reply_code::ok});
    CHECK(bad->code == reply_code::no_node);
    CHECK(bad->results == std::vector{reply_code::ok, reply_code::no_node, reply_code::not_sent});
    CHECK(here.ensemble.log().size() == entries + 2);
  }

  TEST_CASE("a container goes once its children have gone; one that never had any only if asked") {
    stage here;
    here.ensemble.create_container("/unused");
    here.ensemble.create_container("/used");
    here.ensemble.create("/plain");
    here.ensemble.create("/used/n");
    here.ensemble.reap();
    CHECK(here.ensemble.exists("/used"));
    here.ensemble.remove("/used/n");
    here.ensemble.reap();
    CHECK_FALSE(here.ensemble.exists("/used"));
    CHECK(here.ensemble.exists("/unused"));
    here.ensemble.reap(true);
    CHECK_FALSE(here.ensemble.exists("/unused"));
    CHECK(here.ensemble.exists("/plain"));
  }

  TEST_CASE("requests of a session are answered in their order, a list shows the create before it") {
    fault_plan plan;
    plan.lag = {.least = 0ms, .most = 50ms};
    stage here{plan};
    here.ensemble.create("/q");
    std::vector<std::uint64_t> sent;
    for (int i = 0; i < 50; ++i) {
      sent.push_back(here.client.create("/q/n-"));
      sent.push_back(here.client.children("/q"));
    }
    REQUIRE(here.client.wait(sent.back()));
    for (std::size_t i = 0; i < sent.size(); ++i) CHECK(here.client.replies[i].first == sent[i]);
    for (std::size_t i = 0; i < 50; ++i) CHECK(here.client.replies[2 * i + 1].second.children.size() >= i + 1);
  }

  TEST_CASE("nothing is heard inside a call of the system under test") {
    stage here;
    const auto lines = here.client.log.size();
    const auto id = here.client.sync();
    here.client.handle->send(1000, {.kind = operation::get, .path = "/"});
    CHECK(here.client.log.size() == lines);
    CHECK(here.client.code(id) == reply_code::ok);
  }

  TEST_CASE("requests are counted by operation") {
    stage here;
    here.client.get("/");
    here.client.get("/");
    here.client.sync();
    CHECK(here.client.connector.sent(operation::get) == 2);
    CHECK(here.client.connector.sent(operation::sync) == 1);
    CHECK(here.client.connector.sent() == 2);
    here.client.connector.forget_sent();
    CHECK(here.client.connector.sent() == 0);
  }
}
}  // namespace latchkey::testing
