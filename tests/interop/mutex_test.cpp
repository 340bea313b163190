// SPDX-License-Identifier: Apache-2.0
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/robust_mutex.hpp>

#include <array>

#include <doctest/doctest.h>

#include "checker.hpp"
#include "mixed.hpp"

namespace latchkey::testing {
namespace {

struct other {
  peer& (*where)();
  const char* kind;
};

/// Those that share a lock with `latchkey::mutex`; kazoo with Curator's names, and with its own and
/// `extra_lock_patterns`.
constexpr std::array others{other{curator, "mutex"}, other{kazoo, "mutex"}, other{kazoo, "lock"}};

/// Plays it, and checks what was seen. @returns how many grants there were
std::size_t played(const plan& what) {
  history seen;
  mixed_contenders all;
  all.start(what, seen);
  all.join();
  const auto periods = seen.periods();
  CHECK(first_of(overlaps(periods)) == "");
  CHECK(first_of(overtakings(periods)) == "");
  return periods.size();
}

}  // namespace

TEST_SUITE("mutex") {
  TEST_CASE("what latchkey holds, Curator and kazoo do not get, and the other way round") {
    for (const auto& [where, kind] : others) {
      CAPTURE(kind);
      const auto path = fresh_path();
      client here{servers().connect_string(), quick(10s)};
      mutex ours{here, path};
      contender_there theirs{where(), fresh_name(kind)};
      ours.lock();
      CHECK_FALSE(theirs.try_take(kind, path));
      theirs.queue_up(kind, path);
      REQUIRE(queued(path, 2));
      CHECK_FALSE(theirs.answered());
      ours.unlock();
      const auto granted = theirs.granted();  // only then is the node that was ours gone
      CHECK(granted == servers().exists(path + "/" + queue_at(path)[0])->czxid);
      CHECK_FALSE(ours.try_lock());
      CHECK_FALSE(ours.try_lock_for(300ms));
      theirs.release();
      REQUIRE(ours.try_lock_for(patience()));
      ours.unlock();
      CHECK(queued(path, 0));
    }
  }

  TEST_CASE("an owner in between that is Curator's or kazoo's is not told of a death, and does not hide it") {
    for (const auto& [where, kind] : others) {
      CAPTURE(kind);
      const auto path = fresh_path();
      client here{servers().connect_string(), quick(10s)};
      robust_mutex ours{here, path};
      fencing_token dead;
      {
        client killed{servers().connect_string(), quick(10s)};
        robust_mutex lock{killed, path};
        lock.lock();
        dead = lock.held().fence();
      }
      contender_there theirs{where(), fresh_name(kind)};
      CHECK(theirs.take(kind, path) > dead.czxid);
      CHECK_FALSE(ours.try_lock());
      theirs.release();
      REQUIRE(ours.try_lock_for(patience()));
      REQUIRE(ours.abandoned());
      CHECK(ours.abandoned()->fence == dead);
      theirs.queue_up(kind, path);
      REQUIRE(queued(path, 2));
      ours.recovered();
      ours.unlock();
      theirs.granted();
      theirs.release();
      REQUIRE(ours.try_lock_for(patience()));
      CHECK_FALSE(ours.abandoned());
      ours.unlock();
      CHECK(queued(path, 0));
    }
  }

  TEST_CASE("the lock of a key is that of Curator and kazoo at the path of the key") {
    for (const auto& [where, kind] : others) {
      CAPTURE(kind);
      const auto root = fresh_path();
      const auto path = root + "/order-17";
      client here{servers().connect_string(), quick(10s)};
      keyed_mutex orders{here, root};
      contender_there theirs{where(), fresh_name(kind)};
      auto held = orders.lock("order-17");
      CHECK_FALSE(theirs.try_take(kind, path));
      theirs.queue_up(kind, path);
      REQUIRE(queued(path, 2));
      CHECK_FALSE(theirs.answered());
      held.release();
      CHECK(theirs.granted() > 0);
      CHECK_FALSE(orders.try_lock_for("order-17", 300ms));
      theirs.release();
      CHECK(orders.try_lock_for("order-17", patience()));
      CHECK(queued(path, 0));
    }
  }

  TEST_CASE("they are served in the order in which they came") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick(10s)};
    mutex ours{here, path};
    contender_there java{curator(), fresh_name("curator")};
    contender_there python{kazoo(), fresh_name("kazoo")};
    contender_there late_java{curator(), fresh_name("curator")};
    ours.lock();
    java.queue_up("mutex", path);
    REQUIRE(queued(path, 2));
    python.queue_up("mutex", path);
    REQUIRE(queued(path, 3));
    late_java.queue_up("mutex", path);
    REQUIRE(queued(path, 4));
    ours.unlock();
    const auto first = java.granted();
    CHECK_FALSE(python.answered());
    java.release();
    const auto second = python.granted();
    CHECK_FALSE(late_java.answered());
    python.release();
    const auto third = late_java.granted();
    late_java.release();
    CHECK(first < second);
    CHECK(second < third);
  }

  TEST_CASE("of contenders in three languages one at a time has the lock, first come first served") {
    const auto path = fresh_path();
    const auto rounds = scaled(500);
    CHECK(played(exclusively(path, rounds, 0us)) == 6 * rounds);
    CHECK(queued(path, 0));
  }

  TEST_CASE("so it is when two processes of latchkey hand off directly") {
    const auto path = fresh_path();
    const auto rounds = scaled(500);
    CHECK(played({path, rounds, 0us, {"direct", "direct"}, "mutex", "mutex"}) == 6 * rounds);
    CHECK(queued(path, 0));
  }

  TEST_CASE("latchkey and kazoo with extra_lock_patterns share a lock, first come first served") {
    const auto path = fresh_path();
    const auto rounds = scaled(200);
    CHECK(played({path, rounds, 0us, {"mutex", "fair"}, "", "lock"}) == 4 * rounds);
    CHECK(queued(path, 0));
  }
}

}  // namespace latchkey::testing
