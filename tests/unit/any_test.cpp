// SPDX-License-Identifier: Apache-2.0
/// One of several locks, in exact situations; see group_faults_test.cpp for what goes wrong.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "support/group_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using enum contender_kind;

/// Eight locks, held by somebody else.
struct any_world : group_world {
  std::vector<std::unique_ptr<simulated_lock>> theirs;
  std::unique_ptr<simulated_group> mine;

  explicit any_world(std::size_t count = 8, std::uint64_t seed = 1) : group_world{seed} {
    paths.clear();
    for (std::size_t i = 0; i < count; ++i) {
      paths.push_back("/slot-" + std::to_string(i));
      ensemble.create_container(paths.back());
      theirs.push_back(std::make_unique<simulated_lock>(two, paths.back(), lock_settings{lock_family::turns}));
      REQUIRE(ends(theirs.back()->enter(1, lock), outcome::granted));
    }
    mine = std::make_unique<simulated_group>(one, members(), group_goal::first);
    one.connector().forget_sent();
  }
  ~any_world() {
    mine->shut();
    for (const auto& each : theirs) each->shut();
  }
};

}  // namespace

TEST_SUITE("any") {
  TEST_CASE("a try of eight locks that are held costs eight lists in one flush, and no write") {
    any_world w;
    const auto call = w.mine->try_to_enter();
    CHECK(w.sent(operation::children) == 8);
    CHECK(w.ends(call, outcome::refused));
    CHECK(w.one.connector().sent() == 8);
  }

  TEST_CASE("a try takes one that is free, and queues in no other one that is held") {
    for (std::size_t free = 0; free < 8; ++free) {
      any_world w;
      w.theirs[free]->leave(1, lock);
      REQUIRE(w.eventually([&] { return w.ensemble.children(w.paths[free]).empty(); }));
      w.time.run_for(10ms);
      REQUIRE(w.granted(w.mine->try_to_enter()));
      CHECK(w.mine->index() == free);
      CHECK(w.sent(operation::children) == 9);
      CHECK(w.sent(operation::create) == 1);
      CHECK(w.one.connector().sent() == 10);
      w.mine->leave();
    }
  }

  TEST_CASE("a try of many free locks creates four places, and gives three up in one transaction") {
    any_world w;
    for (const auto& each : w.theirs) each->leave(1, lock);
    REQUIRE(w.become(std::vector<std::size_t>(8)));
    w.time.run_for(10ms);
    const auto before = w.ensemble.log().size();
    REQUIRE(w.granted(w.mine->try_to_enter()));
    const auto& log = w.ensemble.log();
    CHECK(std::count_if(log.begin() + static_cast<std::ptrdiff_t>(before), log.end(),
                        [](const auto& each) { return each.kind == commit_kind::created; }) == 4);
    CHECK(w.sent(request_kind::remove_all) == 1);
    CHECK(w.sent(operation::remove) == 0);
    w.mine->leave();
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("tries at different times do not all prefer the same locks") {
    any_world w;
    for (const auto& each : w.theirs) each->leave(1, lock);
    REQUIRE(w.become(std::vector<std::size_t>(8)));
    std::set<std::size_t> taken;
    for (int i = 0; i < 24; ++i) {
      w.time.run_for(10ms);
      REQUIRE(w.granted(w.mine->try_to_enter()));
      taken.insert(w.mine->index());
      w.mine->leave();
    }
    CHECK(taken.size() > 5);
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("a call waits in every queue, takes the first lock that is let go, and gives the others up at once") {
    for (std::size_t free = 0; free < 8; free += 3) {
      any_world w;
      const auto call = w.mine->enter();
      REQUIRE(w.become(std::vector<std::size_t>(8, 2)));
      w.time.run_for(1s);
      CHECK(call->what == outcome::waiting);
      CHECK(w.sent(request_kind::create_all) == 1);
      w.one.connector().forget_sent();
      w.theirs[free]->leave(1, lock);
      REQUIRE(w.granted(call));
      CHECK(w.mine->index() == free);
      CHECK(w.mine->held());
      CHECK(w.become(std::vector<std::size_t>(8, 1)));
      CHECK(w.sent(request_kind::remove_all) == 1);
      w.mine->leave();
      CHECK(w.eventually([&] { return w.ensemble.children(w.paths[free]).empty(); }));
    }
  }

  TEST_CASE("callers are served in the order of their calls, whichever locks become free") {
    any_world w;
    simulated_group second{w.one, w.members(), group_goal::first};
    simulated_group third{w.two, w.members(), group_goal::first};
    const auto one = w.mine->enter();
    REQUIRE(w.become(std::vector<std::size_t>(8, 2)));
    const auto two = second.enter();
    REQUIRE(w.become(std::vector<std::size_t>(8, 3)));
    const auto three = third.enter();
    REQUIRE(w.become(std::vector<std::size_t>(8, 4)));
    w.theirs[5]->leave(1, lock);
    REQUIRE(w.granted(one));
    w.time.run_for(100ms);
    w.theirs[2]->leave(1, lock);
    REQUIRE(w.granted(two));
    w.time.run_for(100ms);
    CHECK(three->what == outcome::waiting);
    w.theirs[7]->leave(1, lock);
    REQUIRE(w.granted(three));
    CHECK(third.index() == 7);
    w.mine->leave();
    second.leave();
    third.leave();
    second.shut();
  }

  TEST_CASE("a place that an operator deletes is taken again, and the others keep theirs") {
    any_world w{3};
    const auto call = w.mine->enter();
    REQUIRE(w.become({2, 2, 2}));
    w.time.run_for(1s);
    const auto mine = [&](std::size_t which) {
      for (const auto& name : w.ensemble.children(w.paths[which])) {
        const auto node = w.paths[which] + "/" + name;
        if (w.ensemble.owner(node) == w.session(w.one)) return node;
      }
      return std::string{};
    };
    const auto kept = mine(0);
    const auto gone = mine(1);
    w.ensemble.remove(gone);
    REQUIRE(w.eventually([&] { return !mine(1).empty() && mine(1) != gone; }));
    CHECK(mine(0) == kept);
    w.time.run_for(100ms);
    w.theirs[1]->leave(1, lock);
    REQUIRE(w.granted(call));
    CHECK(w.mine->index() == 1);
    w.mine->leave();
  }

  TEST_CASE("two that are let in at once: one is held, the other goes") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      any_world w{3, seed};
      const auto call = w.mine->enter();
      REQUIRE(w.become({2, 2, 2}));
      w.time.run_for(100ms);
      w.theirs[0]->leave(1, lock);
      w.theirs[1]->leave(1, lock);
      REQUIRE(w.granted(call));
      const auto index = w.mine->index();
      CHECK(w.eventually([&] { return w.queues() == std::vector<std::size_t>{index == 0, index == 1, 1}; }));
      CHECK(w.mine->held());
      w.mine->leave();
    }
  }
}

}  // namespace latchkey::testing
