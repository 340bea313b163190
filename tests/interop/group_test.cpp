// SPDX-License-Identifier: Apache-2.0
/// Groups of locks of latchkey among contenders in three languages.

#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "checker.hpp"
#include "mixed.hpp"

namespace latchkey::testing {
namespace {

/// Three locks, and what all that take them have written down about each.
struct three_locks {
  std::array<std::string, 3> paths{fresh_path(), fresh_path(), fresh_path()};
  std::array<history, 3> seen;
  std::vector<std::unique_ptr<contender_there>> busy;

  /// Begins rounds of one that takes these locks, in this order. @returns it
  contender_there& add(peer& where, const std::string& kind, std::vector<std::size_t> locks, std::size_t count,
                       const std::string& last) {
    std::string all;
    std::string files;
    for (const auto each : locks) {
      all += (all.empty() ? "" : "+") + paths[each];
      files += (files.empty() ? "" : "+") + seen[each].path();
    }
    auto& who = *busy.emplace_back(std::make_unique<contender_there>(where, fresh_name(kind)));
    const auto* const command = kind == "multi" ? "rounds_together" : "rounds";
    who.say(fmt::format("{} {} {} {} 0 {}", command, all, count, files, last));
    return who;
  }
  void join() {
    for (const auto& each : busy) CHECK(each->answer(patience() * 8).starts_with("done "));
  }
};

}  // namespace

TEST_SUITE("groups") {
  TEST_CASE("a group waits for Curator and kazoo, and they wait for it") {
    three_locks locks;
    client here{servers().connect_string(), quick(10s)};
    multi_lock group{here, {{locks.paths[2]}, {locks.paths[0]}, {locks.paths[1]}}};
    contender_there java{curator(), fresh_name("curator")};
    contender_there python{kazoo(), fresh_name("kazoo")};
    auto held = group.acquire();
    CHECK_FALSE(java.try_take("mutex", locks.paths[0]));
    CHECK_FALSE(python.try_take("mutex", locks.paths[1]));
    java.queue_up("mutex", locks.paths[0]);
    python.queue_up("mutex", locks.paths[1]);
    REQUIRE(queued(locks.paths[0], 2));
    REQUIRE(queued(locks.paths[1], 2));
    const auto token = held.fence();
    held.release();
    CHECK(java.granted() > token.czxid);
    CHECK(python.granted() > token.czxid);
    CHECK_FALSE(group.try_lock());
    java.release();
    CHECK_FALSE(group.try_lock_for(300ms));
    python.release();
    REQUIRE(group.try_lock_for(patience()));
    CHECK(group.held().fence() > token);
    group.unlock();
    for (const auto& path : locks.paths) CHECK(queued(path, 0));
  }

  // InterProcessMultiLock waits for one lock while it holds another one. A group may be behind it in the one queue, and
  // ahead of it in the other: then its timeout ends that.
  TEST_CASE("groups in opposite orders, sorted InterProcessMultiLocks, mutexes of Java and kazoo: all finish") {
    three_locks locks;
    const auto groups = scaled(1000) / 4;
    const auto others = scaled(100);
    locks.add(latchkeys(), "group", {0, 1, 2}, groups, "group");
    locks.add(latchkeys(), "group", {2, 1, 0}, groups, "group");
    locks.add(latchkeys(), "group", {2, 0}, groups, "group");
    locks.add(latchkeys(), "group", {1, 2}, groups, "group");
    locks.add(curator(), "multi", {0, 1, 2}, others / 4, "200");
    locks.add(curator(), "mutex", {1}, others, "mutex");
    locks.add(kazoo(), "mutex", {0}, others, "mutex");
    locks.add(latchkeys(), "mutex", {2}, others, "mutex");
    locks.join();
    for (std::size_t i = 0; i < 3; ++i) {
      const auto periods = locks.seen[i].periods();
      CHECK(first_of(overlaps(periods)) == "");
      CHECK(first_of(overtakings(periods)) == "");
      CHECK(periods.size() == (i == 2 ? 4 : 3) * groups + others / 4 + others);
      CHECK(queued(locks.paths[i], 0));
    }
  }
}

}  // namespace latchkey::testing
