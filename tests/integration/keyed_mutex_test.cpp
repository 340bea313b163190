// SPDX-License-Identifier: Apache-2.0
#include <latchkey/keyed_mutex.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <latchkey/metrics.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>

#include "support/actors.hpp"
#include "support/reached.hpp"
#include "support/support.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {
namespace {

/// A root whose users have agreed on `stripes`, and that has the path of each key.
std::string root_with(std::uint32_t stripes, const std::vector<std::string>& keys) {
  auto root = fresh_path();
  client owner{servers().connect_string(), quick()};
  keyed_mutex locks{owner, root, {.stripes = stripes}};
  for (const auto& key : keys) locks.lock(key).release();
  for (const auto& key : keys) REQUIRE(queued(locks.path(key), 0));
  return root;
}

}  // namespace

TEST_SUITE("keyed mutex") {
  TEST_CASE("a lock is one create and one list, its unlock one delete; the first of a process reads the root, too") {
    for (const std::uint32_t stripes : {0u, 64u}) {
      CAPTURE(stripes);
      const auto root = root_with(stripes, {"a"});
      counted here;
      keyed_mutex locks{here.owner, root, {.stripes = stripes}};
      constexpr auto one_way = 1s;  // far more than a machine stalls
      here.net.delay(one_way);
      const auto start = std::chrono::steady_clock::now();
      auto held = locks.lock("a");
      CHECK(std::chrono::steady_clock::now() - start < 2 * 2 * one_way);
      here.net.delay(0ms);
      auto sent = here.since();
      CHECK(sent["getData"] >= 1);  // the node itself is read, too, as it is 10 ms old
      sent.erase("getData");
      CHECK(sent == counts{{"create2", 1}, {"getChildren2", 1}});
      held.release();
      REQUIRE(queued(locks.path("a"), 0));
      CHECK(here.waited_for_since() == counts{{"delete", 1}});
      locks.lock("a").release();
      REQUIRE(queued(locks.path("a"), 0));
      CHECK(here.waited_for_since() == counts{{"create2", 1}, {"getChildren2", 1}, {"delete", 1}});
    }
  }

  TEST_CASE("a new key is one container more, and the first of all writes the root") {
    const auto root = fresh_path();
    servers().create_all(root.substr(0, root.rfind('/')));
    counted here;
    keyed_mutex locks{here.owner, root};
    locks.lock("a").release();
    REQUIRE(queued(locks.path("a"), 0));
    // The entry, too, makes all parents, and finds those of the contract there.
    auto sent = here.waited_for_since();
    CHECK(sent["create2"] == 2 + 1);  // the node of the root
    CHECK(servers().get(root) == R"({"stripes":0})");
    locks.lock("b").release();
    REQUIRE(queued(locks.path("b"), 0));
    sent = here.waited_for_since();
    CHECK(sent["create2"] == 2);
    CHECK(sent["getChildren2"] == 2);
    CHECK(sent["delete"] == 1);
  }

  TEST_CASE("a root that is a container gets a child that keeps it, and any other number of stripes is refused") {
    const auto root = fresh_path();
    client owner{servers().connect_string(), quick()};
    mutex a{owner, root + "/a"};
    (void)a.acquire();
    keyed_mutex same{owner, root};
    CHECK(same.try_lock("a"));
    CHECK(servers().get(root) == R"({"stripes":0})");
    const auto children = servers().children(root);
    CHECK(std::find(children.begin(), children.end(), "%keep") != children.end());
    keyed_mutex striped{owner, root, {.stripes = 8}};
    CHECK(error_of([&] { (void)striped.lock("a"); }) == errc::contract_mismatch);
    CHECK(error_of([&] { (void)striped.try_lock("a"); }) == errc::contract_mismatch);
    CHECK(striped.objects() == 0);
  }

  TEST_CASE("a try for any of 8 keys that are held is 8 reads and no write, in one round trip") {
    const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h"};
    const std::vector<std::string_view> keys{names.begin(), names.end()};
    const auto root = root_with(0, names);
    client other{servers().connect_string(), quick()};
    keyed_mutex holder{other, root};
    const auto all = holder.lock_all(keys);
    counted here;
    keyed_mutex locks{here.owner, root};
    here.catch_up();
    CHECK_FALSE(locks.try_lock_any(keys));
    CHECK(here.since() == counts{{"getChildren2", 8}, {"getData", 1}});  // of the root, by the first call
    constexpr auto one_way = 1s;
    here.net.delay(one_way);
    const auto start = std::chrono::steady_clock::now();
    CHECK_FALSE(locks.try_lock_any(keys));
    const auto took = std::chrono::steady_clock::now() - start;
    CHECK(took >= 2 * one_way);
    CHECK(took < 2 * 2 * one_way);
    CHECK(here.since() == counts{{"getChildren2", 8}});
  }

  TEST_CASE("free keys are taken together by one transaction and a list each, and released by one transaction") {
    const std::vector<std::string> names{"a", "b", "c"};
    const std::vector<std::string_view> keys{names.begin(), names.end()};
    const auto root = root_with(0, names);
    counted here;
    keyed_mutex locks{here.owner, root};
    locks.lock_all(keys).release();
    for (const auto& each : names) REQUIRE(queued(locks.path(each), 0));
    CHECK(here.waited_for_since() == counts{{"multi", 2}, {"getChildren2", 3}});
  }

  LATCHKEY_TEST_CASES("callers of several clients never overlap on any of many keys", who, all_callers()) {
    const auto root = fresh_path();
    constexpr int count = 16;
    std::array<std::atomic<int>, count> inside{};
    std::atomic<int> overlaps{0};
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    keyed_mutex plain{first, root};
    keyed_mutex lingering{second, root, {.lock = {.linger = 20ms}}};
    group_of_actors all{who};
    for (int caller = 0; caller < 8; ++caller) {
      all.start([&, caller] {
        for (int i = 0; i < 40; ++i) {
          const int key = (caller * 7 + i * 5) % count;
          const auto held = (caller % 2 == 0 ? plain : lingering).lock(std::to_string(key));
          if (inside[key].fetch_add(1) != 0) ++overlaps;
          inside[key].fetch_sub(1);
        }
      });
    }
    all.join();
    CHECK(overlaps == 0);
    CHECK(plain.objects() == 0);
    CHECK(eventually([&] { return lingering.objects() == 0; }));
    for (int key = 0; key < count; ++key) CHECK(queued(plain.path(std::to_string(key)), 0));
  }

  TEST_CASE("the queue of a key can be read, its holder asked to release, and its calls are counted") {
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    keyed_mutex locks{first, fresh_path(), {.lock = {.group = "orders"}}};
    const auto path = locks.path("a/b");
    const auto held = locks.lock("a/b");
    const queue_snapshot queue{second, path};
    REQUIRE(queue.holders().size() == 1);
    CHECK(queue.holders()[0].session == first.session_id());
    CHECK(ask_to_release(second, path) == 1);
    CHECK(eventually([&] { return held.grant().asked_to_release(); }));
    mutex other{second, path};
    CHECK_FALSE(other.try_lock());
    (void)locks.lock("c");
    const auto metrics = first.metrics();
    REQUIRE(metrics.locks.size() == 1);
    CHECK(metrics.locks[0].group == "orders");
    CHECK(metrics.locks[0].granted == 2);
    CHECK(metrics.locks[0].held == 1);
  }
}

}  // namespace latchkey::testing
