// SPDX-License-Identifier: Apache-2.0
/// What readers cost.

#include <latchkey/shared_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include <doctest/doctest.h>

#include "support/reached.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("budget") {
  LATCHKEY_TEST_CASES("a reader behind writers is woken once, by the nearest", who, all_callers()) {
    constexpr int writers = 4;
    const auto path = fresh_path();
    std::vector<std::unique_ptr<client>> clients;
    std::vector<std::unique_ptr<shared_mutex>> locks;
    std::vector<std::unique_ptr<signal>> go_on;
    for (int i = 0; i < writers; ++i) {
      clients.push_back(std::make_unique<client>(servers().connect_string(), quick(20s)));
      locks.push_back(std::make_unique<shared_mutex>(*clients.back(), path));
      go_on.push_back(std::make_unique<signal>());
    }
    counted here;
    shared_mutex lock{here.owner, path};
    std::atomic<bool> reads{false};
    std::atomic<std::uint64_t> lists{0};
    const auto without_lists = [&] {
      auto sent = here.since();
      lists += sent["getChildren2"];
      sent.erase("getChildren2");
      return sent;
    };
    group_of_actors all{who};
    for (int i = 0; i < writers; ++i) {
      all.start([&, i] {
        REQUIRE(queued(path, static_cast<std::size_t>(i)));
        const std::lock_guard guard{*locks[i]};
        go_on[i]->wait();
        CHECK_FALSE(reads);
        CHECK(without_lists().empty());
      });
    }
    all.start([&] {
      REQUIRE(queued(path, writers));
      lock.lock_shared();
      reads = true;
      lock.unlock_shared();
    });
    all.start([&] {
      REQUIRE(queued(path, writers + 1));
      REQUIRE(has_sent(here.net, opcode::get_data, 2));  // the nearest, and its own
      CHECK(without_lists() == counts{{"create2", 1}, {"getData", 2}});
      for (int i = 0; i < writers; ++i) {
        go_on[i]->set();
        REQUIRE(eventually([&] { return queue_at(path).size() <= static_cast<std::size_t>(writers - i); }));
      }
    });
    all.join();
    CHECK(reads);
    CHECK(queued(path, 0));
    auto sent = here.since();
    CHECK(lists + sent["getChildren2"] <= 6);  // with the create, four looks ahead, and one in its turn
    CHECK(sent["getData"] == 0);
    CHECK(sent["delete"] == 1);
  }

  LATCHKEY_TEST_CASES("readers of one object that join one another cost no request, however late they come", who,
                      all_callers()) {
    for (const auto share_for : {50ms, 0ms}) {  // which counts only once somebody waits
      CAPTURE(share_for.count());
      constexpr int readers = 20;
      const auto path = fresh_path();
      servers().create_all(path);
      counted here;
      shared_mutex lock{here.owner, path, {.share_for = share_for}};
      std::atomic<int> reading{0};
      std::vector<fencing_token> fences(readers);
      signal finish;
      group_of_actors all{who};
      for (int i = 0; i < readers; ++i) {
        all.start([&, i] {
          REQUIRE(eventually([&] { return reading >= i; }));
          lock.lock_shared();
          fences[static_cast<std::size_t>(i)] = lock.held_shared().fence();
          ++reading;
          finish.wait();
          lock.unlock_shared();
        });
      }
      all.start([&] {
        REQUIRE(eventually([&] { return reading == readers; }));
        CHECK(queue_at(path).size() == 1);
        // One list with the create, one that finds that nobody waits; and whether the node is still there.
        REQUIRE(has_sent(here.net, opcode::get_data));
        CHECK(here.since() == counts{{"create2", 1}, {"getChildren2", 2}, {"getData", 1}});
        finish.set();
      });
      all.join();
      CHECK(std::is_sorted(fences.begin(), fences.end()));
      CHECK(std::adjacent_find(fences.begin(), fences.end()) == fences.end());
      REQUIRE(queued(path, 0));
      auto sent = here.since();
      CHECK(sent["delete"] == 1);
      CHECK(sent["create2"] == 0);
    }
  }

  LATCHKEY_TEST_CASES("readers join for a bounded time once a writer waits outside, and for that time they do", who,
                      all_callers()) {
    for (const auto share_for : {std::chrono::milliseconds{0}, std::chrono::milliseconds{1h}}) {
      CAPTURE(share_for.count());
      const auto path = fresh_path();
      client first{servers().connect_string(), quick(20s)};
      client second{servers().connect_string(), quick(20s)};
      shared_mutex lock{first, path, {.share_for = share_for}};
      shared_mutex outside{second, path};
      signal held;
      signal finish;
      group_of_actors all{who};
      all.start([&] {
        lock.lock_shared();
        held.set();
        finish.wait();
        lock.unlock_shared();
      });
      all.start([&] {
        held.wait();
        outside.lock();
        outside.unlock();
      });
      all.start([&] {
        REQUIRE(queued(path, 2));
        const auto joins = [&] {
          if (!lock.try_lock_shared()) return false;
          lock.unlock_shared();
          return true;
        };
        if (share_for == 0ms) {
          CHECK(eventually([&] { return !joins(); }));
        } else {
          for (int i = 0; i < 50; ++i) {
            CHECK(joins());
            pause();
          }
        }
        CHECK(queued(path, 2));
        finish.set();
      });
      all.join();
      CHECK(queued(path, 0));
    }
  }
}

}  // namespace latchkey::testing
