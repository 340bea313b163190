// SPDX-License-Identifier: Apache-2.0
/// Groups of locks when something goes wrong, at every step.

#include <doctest/doctest.h>

#include <array>

#include "support/group_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using enum contender_kind;

enum class fault { reset, hole, expiry, deletion, path_deletion };
constexpr std::array faults{fault::reset, fault::hole, fault::expiry, fault::deletion, fault::path_deletion};
constexpr std::array goals{group_goal::all, group_goal::first};

/// A group that waits for locks of somebody else, who lets go of them while something goes wrong.
struct faulty_world : group_world {
  simulated_group mine;
  std::vector<std::unique_ptr<simulated_lock>> theirs;

  faulty_world(group_goal goal, std::uint64_t seed) : group_world{seed}, mine{one, members(), goal} {
    for (const auto& path : paths) {
      if (goal == group_goal::all && path == "/a") continue;
      theirs.push_back(std::make_unique<simulated_lock>(two, path, lock_settings{lock_family::turns}));
      REQUIRE(ends(theirs.back()->enter(1, lock), outcome::granted));
    }
  }

  /// Something happens to the client or to one of its nodes.
  void strike(fault what, std::size_t which) {
    auto& wire = *one.connector().latest();
    switch (what) {
      case fault::reset:
        return wire.lose_connection();
      case fault::hole:
        return wire.open_hole(one.session_timeout());
      case fault::expiry:
        return ensemble.expire(session(one));
      case fault::deletion:
        return remove_mine(which);
      case fault::path_deletion:
        for (const auto& name : ensemble.children(paths[which])) ensemble.remove(paths[which] + "/" + name);
        ensemble.remove(paths[which]);
    }
  }
  void remove_mine(std::size_t which) {
    for (const auto& name : ensemble.children(paths[which])) {
      const auto node = paths[which] + "/" + name;
      if (ensemble.owner(node) == session(one)) ensemble.remove(node);
    }
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) time.step();
  }
  void release_theirs() {
    for (const auto& each : theirs) each->leave(1, lock);
  }
};

}  // namespace

TEST_SUITE("group faults") {
  TEST_CASE("whatever goes wrong at whatever step of the wait, the group is granted, and nothing is left") {
    for (const auto goal : goals) {
      for (const auto what : faults) {
        for (int after = 0; after < 40; ++after) {
          CAPTURE(static_cast<int>(goal));
          CAPTURE(static_cast<int>(what));
          CAPTURE(after);
          faulty_world w{goal, static_cast<std::uint64_t>(after + 1)};
          const auto call = w.mine.enter();
          w.steps(after);
          w.strike(what, static_cast<std::size_t>(after) % 3);
          w.steps(after / 2);
          w.release_theirs();
          REQUIRE(w.granted(call));
          if (!w.mine.held()) {  // lost right after
            w.mine.leave();
            REQUIRE(w.granted(w.mine.enter()));
          }
          const auto fence = w.mine.held().fence();
          w.mine.leave();
          CHECK(w.nothing_is_left());
          REQUIRE(w.one.connect());
          REQUIRE(w.granted(w.mine.enter()));
          CHECK(w.mine.held().fence() > fence);
          w.mine.leave();
          CHECK(w.nothing_is_left());
        }
      }
    }
  }

  TEST_CASE("whatever request is lost, before or after its effect, the group is granted, and nothing is left") {
    const std::array kinds{request_kind::create_all, request_kind::remove_all, request_kind{operation::children},
                           request_kind{operation::get}, request_kind::check};
    for (const auto goal : goals) {
      for (const auto& kind : kinds) {
        for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect, trap::lost_then_late, trap::stuck}) {
          for (const bool once : {false, true}) {
            CAPTURE(kind.index());
            CAPTURE(static_cast<int>(fate));
            faulty_world w{goal, kind.index() + 1};
            if (once) w.release_theirs();
            if (once) REQUIRE(w.become({0, 0, 0}));
            w.time.run_for(100ms);
            w.one.connector().set_trap(kind, fate);
            const auto call = once ? w.mine.try_to_enter() : w.mine.enter();
            w.time.run_for(20ms);
            if (!once) w.release_theirs();
            REQUIRE(w.eventually([&] { return call->what != outcome::waiting; }));
            if (!once) CHECK(call->what == outcome::granted);
            w.mine.leave();
            CHECK(w.nothing_is_left());
          }
        }
      }
    }
  }

  TEST_CASE("a group with one forbidden path fails with that path, and leaves nothing anywhere") {
    for (std::size_t forbidden = 0; forbidden < 3; ++forbidden) {
      for (const bool once : {false, true}) {
        group_world w;
        w.ensemble.forbid(operation::create, w.paths[forbidden]);
        simulated_group mine{w.one, w.members(), group_goal::all};
        const auto call = once ? mine.try_to_enter() : mine.enter();
        REQUIRE(w.ends(call, outcome::failed));
        CHECK(call->why->code == errc::not_authorized);
        CHECK(call->why->path == w.paths[forbidden]);
        CHECK(w.nothing_is_left());
        CHECK(w.sent(request_kind::remove_all) + w.sent(operation::remove) == 0);
      }
    }
  }

  TEST_CASE("paths that are missing are created along") {
    for (const auto goal : goals) {
      group_world w;
      for (const auto& path : w.paths) w.ensemble.remove(path);
      simulated_group mine{w.one, {{"/x/a"}, {"/x/b"}, {"/y/c"}}, goal};
      REQUIRE(w.granted(mine.enter()));
      mine.leave();
      REQUIRE(w.granted(mine.try_to_enter()));
      mine.leave();
      CHECK(w.eventually([&] { return w.one.unfinished().empty(); }));
    }
  }

  TEST_CASE("the loss of one lock is that of all: the others are given up at once") {
    for (std::size_t gone = 0; gone < 3; ++gone) {
      group_world w;
      simulated_group mine{w.one, w.members(), group_goal::all};
      REQUIRE(w.granted(mine.enter()));
      const auto held = mine.held();
      w.time.run_for(100ms);
      const auto stop = held.stop_token();
      w.ensemble.remove(w.first_node(w.paths[gone]));
      REQUIRE(w.eventually([&] { return !held; }));
      CHECK(held.loss() == loss_reason::node_deleted);
      CHECK(w.become({0, 0, 0}));
      const auto next = mine.enter(2);
      w.time.run_for(1s);
      CHECK(next->what == outcome::waiting);  // until the holder unlocks
      mine.leave();
      CHECK(w.granted(next));
      mine.leave();
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("a grant whose session ends is lost as a whole, before the next contender of any lock is let in") {
    group_world w;
    simulated_group mine{w.one, w.members(), group_goal::all};
    REQUIRE(w.granted(mine.enter()));
    const auto held = mine.held();
    simulated_lock next{w.two, "/b", {lock_family::turns}};
    const auto waits = next.enter(1, lock);
    REQUIRE(w.become({1, 2, 1}));
    w.one.connector().cut();
    REQUIRE(w.granted(waits));
    CHECK_FALSE(held);
    w.one.connector().heal();
    mine.leave();
    next.leave(1, lock);
    CHECK(w.nothing_is_left());
    next.shut();
  }

  TEST_CASE("who holds a group for too long loses all of it") {
    group_world w;
    simulated_group mine{w.one, w.members(), group_goal::all, 5s};
    REQUIRE(w.granted(mine.enter()));
    const auto held = mine.held();
    w.time.run_for(5s - 100ms);
    CHECK(held);
    REQUIRE(w.eventually([&] { return !held; }));
    CHECK(held.loss() == loss_reason::held_too_long);
    CHECK(w.become({0, 0, 0}));
    mine.leave();
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("whoever asks for one of the locks is heard by the holder of all") {
    group_world w;
    simulated_group mine{w.one, w.members(), group_goal::all};
    REQUIRE(w.granted(mine.enter()));
    w.ensemble.change(w.first_node("/c"), std::string{detail::release_request});
    const auto held = mine.held();
    CHECK(w.eventually([&] { return held.asked_to_release(); }));
    mine.leave();
  }

  TEST_CASE("every call ends when the client is closed, or the object destroyed") {
    for (const auto goal : goals) {
      for (const bool destroyed : {false, true}) {
        faulty_world w{goal, 1};
        w.release_theirs();
        REQUIRE(w.granted(w.mine.enter(1)));
        const auto held = w.mine.held();
        const auto waits = w.mine.enter(2);
        simulated_group other{w.one, w.members(), group_goal::all};
        const auto queued = other.enter();
        REQUIRE(w.eventually([&] { return w.ensemble.children("/c").size() >= 1; }));
        w.time.run_for(100ms);
        if (destroyed) {
          w.mine.shut();
          other.shut();
        } else {
          w.one.close();
        }
        REQUIRE(w.ends(waits, outcome::failed));
        REQUIRE(w.ends(queued, outcome::failed));
        CHECK(waits->why->code == (destroyed ? errc::lock_destroyed : errc::closed));
        CHECK_FALSE(held);
        CHECK(w.become({0, 0, 0}));
      }
    }
  }

  TEST_CASE("a node that may not be deleted fails the next group, which adds no other one") {
    group_world w;
    simulated_group mine{w.one, w.members(), group_goal::all};
    REQUIRE(w.granted(mine.enter()));
    w.ensemble.forbid(operation::remove, "/b");
    mine.leave();
    REQUIRE(w.become({0, 1, 0}));
    w.time.run_for(100ms);
    for (int i = 0; i < 3; ++i) {
      const auto call = mine.enter();
      REQUIRE(w.ends(call, outcome::failed));
      CHECK(call->why->code == errc::not_authorized);
      CHECK(w.become({0, 1, 0}));
    }
    w.time.run_for(100ms);
    w.ensemble.allow_everything();
    const auto call = mine.enter();  // asks for the deletion once more
    CHECK(w.ends(call, outcome::failed));
    CHECK(w.become({0, 0, 0}));
    w.time.run_for(100ms);
    CHECK(w.granted(mine.enter()));
    mine.leave();
  }
}

}  // namespace latchkey::testing
