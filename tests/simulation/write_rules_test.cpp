// SPDX-License-Identifier: Apache-2.0
// The rules of the fake ensemble, so that it can be trusted against HAZARDS.md: `set`, `replace` and `remove_all`.
#include <doctest/doctest.h>

#include <chrono>

#include "simulation/stage.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::connection_state;
using detail::operation;
using detail::reply_code;
using detail::watch_event;

/// An ensemble with one client that is connected, and has a node in a queue.
struct stage_with_node : stage_with_queue {
  explicit stage_with_node(fault_plan plan = {}, std::uint64_t seed = 1) : stage_with_queue{plan, seed} {
    const auto made = client.wait(client.create("/q/n-"));
    REQUIRE(made);
    old = made->path;
    conclude();
  }
  bool has_only(const std::string& path) const { return queue() == std::vector{path.substr(3)}; }

  std::string old;
};

std::int64_t milliseconds(time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

TEST_SUITE("fake writes") {
  TEST_CASE("a set changes the data and nothing else, and tells who watches them") {
    stage_with_node here;
    const auto before = here.client.wait(here.client.get(here.old, true));
    here.time.run_for(1s);
    const auto changed = here.client.wait(here.client.set(here.old, "new"));
    CHECK(changed->code == reply_code::ok);
    CHECK(changed->stat.czxid == before->stat.czxid);
    CHECK(here.client.events(here.old) == std::vector{watch_event::changed});
    const auto after = here.client.wait(here.client.get(here.old));
    CHECK(before->data == "data");
    CHECK(after->data == "new");
    CHECK(after->stat.czxid == before->stat.czxid);
    CHECK(after->stat.ctime == before->stat.ctime);
    CHECK(after->stat.ephemeral_owner == here.client.info.id);
    const auto& log = here.ensemble.log();
    CHECK(log.back().kind == commit_kind::changed);
    CHECK(log.back().session == here.client.info.id);
  }

  TEST_CASE("a set is refused where ZooKeeper refuses it") {
    stage_with_node here;
    CHECK(here.client.code(here.client.set("/none", "x")) == reply_code::no_node);
    CHECK(here.client.code(here.client.set("bad", "x")) == reply_code::bad_arguments);
    here.ensemble.forbid(operation::set, here.old);
    CHECK(here.client.code(here.client.set(here.old, "x")) == reply_code::no_permission);
    CHECK(here.ensemble.data(here.old) == "data");
  }

  TEST_CASE("the time of a creation is that of its commit") {
    stage_with_node here;
    here.time.run_for(10s);
    const auto before = milliseconds(here.time.now());
    const auto made = here.client.wait(here.client.create("/q/n-"));
    CHECK(made->stat.ctime >= before);
    CHECK(made->stat.ctime <= milliseconds(here.time.now()));
    here.time.run_for(10s);
    CHECK(here.client.wait(here.client.get(made->path))->stat.ctime == made->stat.ctime);
  }

  TEST_CASE("a replace is one transaction: the new node is ours, the old one has gone") {
    stage_with_node here;
    const auto done = here.client.wait(here.client.replace(here.old, "/q/new", "mine"));
    CHECK(done->code == reply_code::ok);
    CHECK(done->results == std::vector{reply_code::ok, reply_code::ok});
    CHECK(here.has_only("/q/new"));
    CHECK(here.ensemble.owner("/q/new") == here.client.info.id);
    CHECK(here.ensemble.data("/q/new") == "mine");
    const auto& log = here.ensemble.log();
    const auto& removed = log[log.size() - 1];
    const auto& created = log[log.size() - 2];
    CHECK(created.kind == commit_kind::created);
    CHECK(here.ensemble.path(created) == "/q/new");
    CHECK(removed.kind == commit_kind::removed);
    CHECK(here.ensemble.path(removed) == here.old);
    CHECK(created.zxid == removed.zxid);
    CHECK(log[log.size() - 3].zxid == created.zxid - 1);
    here.ensemble.expire(here.client.info.id);
    CHECK(here.queue().empty());
  }

  TEST_CASE("a replace that fails changes nothing, and says which half failed") {
    stage_with_node here;
    here.ensemble.create("/q/other", "theirs");
    const auto exists = here.client.wait(here.client.replace(here.old, "/q/other"));
    CHECK(exists->code == reply_code::node_exists);
    CHECK(exists->results == std::vector{reply_code::node_exists, reply_code::not_sent});
    CHECK(here.ensemble.data("/q/other") == "theirs");
    here.ensemble.remove("/q/other");
    const auto missing = here.client.wait(here.client.replace("/q/none", "/q/new"));
    CHECK(missing->code == reply_code::no_node);
    CHECK(missing->results == std::vector{reply_code::ok, reply_code::no_node});
    CHECK(here.client.code(here.client.replace("/q", "/q/new")) == reply_code::not_empty);
    CHECK(here.client.code(here.client.replace(here.old, here.old + "/new")) == reply_code::no_children_for_ephemerals);
    CHECK(here.client.code(here.client.replace(here.old, "bad")) == reply_code::bad_arguments);
    CHECK(here.has_only(here.old));
    CHECK(here.ensemble.log().back().kind == commit_kind::failed);
  }

  TEST_CASE("a replace needs the permissions for both of its halves") {
    stage_with_node here;
    for (const auto kind : {operation::create, operation::remove}) {
      here.ensemble.forbid(kind, "/q");
      CHECK(here.client.code(here.client.replace(here.old, "/q/new")) == reply_code::no_permission);
      here.ensemble.allow_everything();
    }
    CHECK(here.has_only(here.old));
    CHECK(here.client.code(here.client.replace(here.old, "/q/new")) == reply_code::ok);
  }

  TEST_CASE("no server ever shows one half of a replace, however it lags") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      fault_plan plan;
      plan.lag = {.least = 0ms, .most = 50ms};
      stage_with_node here{plan, seed};
      recording_client other{here.ensemble};
      REQUIRE(other.connect());
      other.wait(other.sync());
      const auto replaced = here.client.replace(here.old, "/q/new");
      for (bool is_new = false; !is_new;) {
        const auto seen = other.wait(other.children("/q"));
        REQUIRE(seen);
        REQUIRE(seen->children.size() == 1);
        is_new = seen->children.front() == "new";
      }
      CHECK(here.client.code(replaced) == reply_code::ok);
    }
  }

  TEST_CASE("a replace tells who watches the old node, and who watches the children, before it is answered") {
    fault_plan plan;
    plan.watch_delay = {.least = 100ms, .most = 200ms};
    stage_with_node here{plan};
    here.client.get(here.old, true);
    here.client.wait(here.client.children("/q", true));
    const auto replaced = here.client.replace(here.old, "/q/new");
    REQUIRE(here.client.wait(replaced));
    CHECK(here.client.events(here.old) == std::vector{watch_event::deleted});
    CHECK(here.client.events("/q") == std::vector{watch_event::children_changed});
    CHECK(here.client.log.back().id == replaced);
    CHECK(here.ensemble.watches() == 0);
  }

  TEST_CASE("a requeue is one transaction: the new node has the next number, the old one has gone") {
    stage_with_node here;
    const auto done = here.client.wait(here.client.requeue(here.old, "/q/mine-"));
    REQUIRE(done->code == reply_code::ok);
    CHECK(done->results == std::vector{reply_code::ok, reply_code::ok});
    CHECK(done->stat.czxid == 0);  // a multi does not tell
    CHECK(here.old == "/q/n-0000000000");
    CHECK(done->paths == std::vector<std::string>{"/q/mine-0000000001"});
    CHECK(here.queue() == std::vector{done->paths.front().substr(3)});
    CHECK(here.ensemble.owner(done->paths.front()) == here.client.info.id);
    const auto& log = here.ensemble.log();
    CHECK(log[log.size() - 1].zxid == log[log.size() - 2].zxid);
    CHECK(here.ensemble.czxid(done->paths.front()) == log.back().zxid);
  }

  TEST_CASE("a requeue whose old node is missing, or that lacks a permission, changes nothing") {
    stage_with_node here;
    const auto missing = here.client.wait(here.client.requeue("/q/none", "/q/mine-"));
    CHECK(missing->code == reply_code::no_node);
    CHECK(missing->results == std::vector{reply_code::ok, reply_code::no_node});
    CHECK(missing->paths.empty());
    for (const auto kind : {operation::create, operation::remove}) {
      here.ensemble.forbid(kind, "/q");
      CHECK(here.client.code(here.client.requeue(here.old, "/q/mine-")) == reply_code::no_permission);
      here.ensemble.allow_everything();
    }
    CHECK(here.has_only(here.old));
  }

  TEST_CASE("a remove_all deletes all in one transaction, or nothing") {
    stage_with_node here;
    const auto more = here.client.wait(here.client.create("/q/n-"))->path;
    const auto bad = here.client.wait(here.client.remove_all({here.old, "/q/none", more}));
    CHECK(bad->code == reply_code::no_node);
    CHECK(bad->results == std::vector{reply_code::ok, reply_code::no_node, reply_code::not_sent});
    CHECK(here.client.code(here.client.remove_all({here.old, here.old})) == reply_code::no_node);
    here.ensemble.forbid(operation::remove, "/q");
    CHECK(here.client.code(here.client.remove_all({here.old})) == reply_code::no_permission);
    here.ensemble.allow_everything();
    CHECK(here.queue().size() == 2);
    CHECK(here.ensemble.log().back().kind == commit_kind::failed);
    const auto done = here.client.wait(here.client.remove_all({here.old, more}));
    CHECK(done->code == reply_code::ok);
    CHECK(done->results == std::vector{reply_code::ok, reply_code::ok});
    CHECK(here.queue().empty());
    const auto& log = here.ensemble.log();
    CHECK(log[log.size() - 1].zxid == log[log.size() - 2].zxid);
  }

  TEST_CASE("a write lost before its effect is answered unknown and changes nothing") {
    fault_plan plan;
    plan.late_write = 0;
    stage_with_node here{plan};
    here.client.connector.set_trap(request_kind::replace, trap::lost_before_effect);
    CHECK(here.client.code(here.client.replace(here.old, "/q/new")) == reply_code::unknown_outcome);
    REQUIRE(here.client.connect());
    here.client.connector.set_trap(operation::set, trap::lost_before_effect);
    CHECK(here.client.code(here.client.set(here.old, "new")) == reply_code::unknown_outcome);
    here.time.run_for(1s);
    CHECK(here.has_only(here.old));
    CHECK(here.ensemble.data(here.old) == "data");
  }

  TEST_CASE("a write whose reply is lost is answered unknown, and has happened as a whole") {
    stage_with_node here;
    here.client.connector.set_trap(operation::set, trap::lost_after_effect);
    CHECK(here.client.code(here.client.set(here.old, "new")) == reply_code::unknown_outcome);
    CHECK(here.ensemble.data(here.old) == "new");
    REQUIRE(here.client.connect());
    here.client.connector.set_trap(request_kind::replace, trap::lost_after_effect);
    CHECK(here.client.code(here.client.replace(here.old, "/q/new")) == reply_code::unknown_outcome);
    CHECK(here.has_only("/q/new"));
  }

  TEST_CASE("a late replace happens as a whole or not at all") {
    int happened = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      stage_with_node here{{}, seed};
      here.client.connector.set_trap(request_kind::replace, trap::lost_then_late);
      CHECK(here.client.code(here.client.replace(here.old, "/q/new")) == reply_code::unknown_outcome);
      here.time.run_for(2s);
      REQUIRE(here.queue().size() == 1);
      happened += here.has_only("/q/new") ? 1 : 0;
    }
    CHECK(happened > 20);
  }
}
}  // namespace latchkey::testing
