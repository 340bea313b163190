// SPDX-License-Identifier: Apache-2.0
/// Several locks taken together, in exact situations; see group_faults_test.cpp for what goes wrong.

#include <doctest/doctest.h>

#include <array>

#include "queue/fenced_commit.hpp"
#include "support/group_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using enum contender_kind;

/// The locks of a group, and one of them that somebody else holds.
struct blocked_world : group_world {
  simulated_group mine{one, members(), group_goal::all};
  simulated_lock theirs{two, "/b", {lock_family::turns}};

  explicit blocked_world(std::uint64_t seed = 1) : group_world{seed} {
    REQUIRE(ends(theirs.enter(1, lock), outcome::granted));
    one.connector().forget_sent();
  }
};

/// One lock alone, taken and released. @returns its token
fencing_token token_of(group_world& w, const std::string& path) {
  simulated_lock alone{w.two, path, {lock_family::turns}};
  REQUIRE(w.ends(alone.enter(1, lock), outcome::granted));
  const auto token = alone.current(1, lock).fence();
  alone.leave(1, lock);
  alone.shut();
  return token;
}

}  // namespace

TEST_SUITE("group") {
  TEST_CASE("free locks cost one transaction and a list each, and one transaction to release") {
    group_world w;
    simulated_group group{w.one, w.members(), group_goal::all};
    REQUIRE(w.granted(group.enter()));
    CHECK(w.sent(request_kind::create_all) == 1);
    CHECK(w.sent(operation::children) == 3);
    CHECK(w.one.connector().sent() == 4);
    CHECK(w.become({1, 1, 1}));
    CHECK(group.held());
    w.one.connector().forget_sent();
    group.leave();
    CHECK(w.one.connector().sent() == 1);
    CHECK(w.sent(request_kind::remove_all) == 1);
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("a try while one lock is held costs a list of each queue, and no write") {
    blocked_world w;
    CHECK(w.ends(w.mine.try_to_enter(), outcome::refused));
    CHECK(w.sent(operation::children) == 3);
    CHECK(w.one.connector().sent() == 3);
    w.theirs.leave(1, lock);
    REQUIRE(w.become({0, 0, 0}));
    w.time.run_for(100ms);
    CHECK(w.granted(w.mine.try_to_enter()));
    CHECK(w.sent(request_kind::create_all) == 1);
    w.mine.leave();
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("a try that another contender overtakes after the lists gives up what it has") {
    group_world w;
    simulated_group mine{w.one, w.members(), group_goal::all};
    const auto call = mine.try_to_enter();
    REQUIRE(w.eventually([&] { return w.sent(request_kind::create_all) == 1 || call->what != outcome::waiting; }));
    REQUIRE(w.sent(request_kind::create_all) == 1);
    w.ensemble.create("/c/other-lock-0000000000", {}, w.ensemble.foreign_session(1h));
    w.ensemble.set_counter("/c", 1);
    CHECK(w.ends(call, outcome::refused));
    CHECK(w.become({0, 0, 1}));
  }

  TEST_CASE("a group waits with one watch for each queue that is held, and is granted when the last has gone") {
    blocked_world w;
    simulated_lock third{w.two, "/c", {lock_family::turns}};
    REQUIRE(w.ends(third.enter(1, lock), outcome::granted));
    const auto call = w.mine.enter();
    REQUIRE(w.become({1, 2, 2}));
    w.time.run_for(5ms);
    CHECK(w.sent(operation::get) == 2);
    third.leave(1, lock);
    REQUIRE(w.become({1, 2, 1}));
    w.time.run_for(1s);
    CHECK(call->what == outcome::waiting);
    w.theirs.leave(1, lock);
    CHECK(w.granted(call));
    CHECK(w.become({1, 1, 1}));
    w.mine.leave();
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("the token is larger than those of earlier holders of each lock, and smaller than those of later ones") {
    blocked_world w;
    const auto before = token_of(w, "/a");
    const auto waits = w.theirs.current(1, lock).fence();
    const auto call = w.mine.enter();
    REQUIRE(w.become({1, 2, 1}));
    w.time.run_for(10ms);
    simulated_lock behind{w.two, "/c", {lock_family::turns}};
    const auto next = behind.enter(1, lock);
    REQUIRE(w.become({1, 2, 2}));
    w.theirs.leave(1, lock);
    REQUIRE(w.granted(call));
    const auto mine = w.mine.held().fence();
    CHECK(mine > before);
    CHECK(mine > waits);
    w.mine.leave();
    REQUIRE(w.granted(next));
    CHECK(behind.current(1, lock).fence() > mine);
    behind.leave(1, lock);
    for (const auto& path : w.paths) CHECK(token_of(w, path) > mine);
    behind.shut();
  }

  TEST_CASE("groups that name the same locks in opposite orders all finish, in the order of their births") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      group_world w{seed};
      auto reversed = w.members();
      std::reverse(reversed.begin(), reversed.end());
      simulated_group first{w.one, w.members(), group_goal::all};
      simulated_group second{w.two, reversed, group_goal::all};
      for (int round = 0; round < 5; ++round) {
        const auto one = first.enter();
        const auto two = second.enter();
        REQUIRE(w.eventually([&] { return one->what != outcome::waiting || two->what != outcome::waiting; }));
        const bool first_leads = one->what == outcome::granted;
        CHECK((first_leads ? two : one)->what == outcome::waiting);
        (first_leads ? first : second).leave();
        REQUIRE(w.granted(first_leads ? two : one));
        (first_leads ? second : first).leave();
      }
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("readers share what they read, and exclude each other where one writes") {
    group_world w;
    simulated_group reader{w.one, {{"/a", read}, {"/b", write}}, group_goal::all};
    simulated_group other{w.two, {{"/a", read}, {"/c", lock}}, group_goal::all};
    simulated_group writer{w.two, {{"/c", read}, {"/a", write}}, group_goal::all};
    REQUIRE(w.granted(reader.enter()));
    REQUIRE(w.granted(other.enter()));
    const auto waits = writer.enter();
    REQUIRE(w.become({3, 1, 2}));
    reader.leave();
    REQUIRE(w.become({2, 0, 2}));
    w.time.run_for(100ms);
    CHECK(waits->what == outcome::waiting);
    other.leave();
    REQUIRE(w.granted(waits));
    writer.leave();
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("readers that one list lets in have tokens of their own") {
    group_world w;
    simulated_lock writer{w.two, "/a", {lock_family::shared}};
    simulated_lock other{w.two, "/a", {lock_family::shared}};
    REQUIRE(w.ends(writer.enter(1, write), outcome::granted));
    const auto next = other.enter(1, write);
    REQUIRE(w.become({2, 0, 0}));
    simulated_group first{w.one, {{"/a", read}, {"/b", read}}, group_goal::all};
    simulated_group second{w.one, {{"/a", read}, {"/b", read}}, group_goal::all};
    const auto one = first.enter();
    REQUIRE(w.become({3, 1, 0}));
    const auto two = second.enter();
    REQUIRE(w.become({4, 2, 0}));
    w.time.run_for(5ms);
    writer.leave(1, write);
    REQUIRE(w.ends(next, outcome::granted));
    other.leave(1, write);
    REQUIRE(w.granted(one));
    REQUIRE(w.granted(two));
    CHECK(first.held().fence() < second.held().fence());
    first.leave();
    second.leave();
    CHECK(w.nothing_is_left());
    writer.shut();
    other.shut();
  }

  TEST_CASE("a call that gives up leaves nothing, or its places to the next caller of the object") {
    blocked_world w;
    const auto alone = w.mine.enter();
    REQUIRE(w.become({1, 2, 1}));
    w.mine.cancel(alone);
    CHECK(w.become({0, 1, 0}));
    const auto first = w.mine.enter(1);
    const auto second = w.mine.enter(2);
    REQUIRE(w.become({1, 2, 1}));
    w.one.connector().forget_sent();
    w.mine.cancel(first);
    CHECK(w.mine.try_to_enter()->what == outcome::refused);
    w.theirs.leave(1, lock);
    CHECK(w.granted(second));
    CHECK(w.sent(request_kind::create_all) == 0);
    w.mine.leave();
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("callers of one object hold one after another, each with places of its own") {
    group_world w;
    simulated_group mine{w.one, w.members(), group_goal::all};
    std::vector<simulated_lock::call> calls;
    for (std::uint64_t fiber = 1; fiber <= 3; ++fiber) calls.push_back(mine.enter(fiber));
    CHECK_THROWS_AS(w.granted(calls[0]) ? mine.enter(1) : nullptr, std::system_error);
    auto last = fencing_token{};
    for (const auto& call : calls) {
      REQUIRE(w.granted(call));
      CHECK(mine.held().fence() > last);
      last = mine.held().fence();
      mine.leave();
    }
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("a guard keeps a group that was made for one call, which leaves nothing when it is released") {
    group_world w;
    auto group = w.one.joint_lock(w.members(), group_goal::all);
    const auto call = w.one.run([&] { return group->enter(1, detail::never); });
    REQUIRE(w.granted(call));
    auto held = group->guard_of_holder();
    const std::weak_ptr<detail::joint_lock> made = group;
    group = nullptr;
    w.time.run_for(w.one.session_timeout());
    CHECK(held);
    CHECK(w.one.run([&] { return w.one.core()->observers(); }) == 4);  // the places, and the object
    held.release();
    CHECK(made.expired());
    CHECK(w.one.run([&] { return w.one.core()->observers(); }) == 0);
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("a place that was let in long ago is proved again before the group is granted") {
    blocked_world w;
    simulated_lock other{w.one, "/other", {lock_family::turns}};
    REQUIRE(w.granted(other.enter(2, lock)));
    const auto call = w.mine.enter();
    REQUIRE(w.become({1, 2, 1}));
    w.wear_out_lease(w.one);
    REQUIRE_FALSE(w.one.run([&] { return w.one.core()->lease_keeper().fresh(); }));
    w.theirs.leave(1, lock);
    REQUIRE(w.granted(call));
    CHECK(w.one.run([&] { return w.one.core()->lease_keeper().fresh(); }));
    CHECK(w.mine.held());
    w.mine.leave();
    other.shut();
  }

  TEST_CASE("a group waits for its last lock without proofs for the others") {
    blocked_world w;
    const auto call = w.mine.enter();
    REQUIRE(w.become({1, 2, 1}));
    w.time.run_for(1s);
    w.one.connector().forget_sent();
    w.time.run_for(w.one.session_timeout());
    CHECK(w.sent(request_kind::check) == 0);
    w.theirs.leave(1, lock);
    CHECK(w.granted(call));
    w.mine.leave();
  }

  TEST_CASE("a transaction under the grant is applied only while the nodes of all its locks are there") {
    for (std::size_t gone = 0; gone < 4; ++gone) {
      group_world w;
      w.ensemble.create("/data", "old");
      simulated_group mine{w.one, w.members(), group_goal::all};
      REQUIRE(w.granted(mine.enter()));
      const auto held = mine.held();
      if (gone < 3) w.ensemble.remove(w.first_node(w.paths[gone]));
      const auto commit = w.one.run([&] {
        const auto begun = std::make_shared<detail::fenced_commit>(
            detail::grant_state::of(held),
            detail::fenced_steps{.steps = {{.what = detail::step::operation::set, .path = "/data", .data = "new"}},
                                 .releases = true});
        begun->start(w.time.now() + 1min);
        return begun;
      });
      REQUIRE(w.eventually([&] { return commit->result().has_value(); }));
      using result = commit_result::outcome;
      CHECK(commit->result()->what == (gone < 3 ? result::lock_lost : result::committed));
      CHECK(w.ensemble.data("/data") == (gone < 3 ? "old" : "new"));
      CHECK(static_cast<bool>(held) == (gone == 3));
      mine.leave();
      CHECK(w.nothing_is_left());
    }
  }
}

}  // namespace latchkey::testing
