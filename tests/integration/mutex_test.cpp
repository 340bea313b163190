// SPDX-License-Identifier: Apache-2.0
#include <latchkey/mutex.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>

#include <doctest/doctest.h>

#include "support/reached.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("mutex") {
  LATCHKEY_TEST_CASES("callers of one object take turns in the order they came, each with a token of its own", who,
                      all_callers()) {
    client owner{servers().connect_string(), quick()};
    mutex lock{owner, fresh_path(), {.turns = 100}};
    auto held = lock.acquire();
    const auto first = held.fence();
    std::vector<int> order;
    std::vector<fencing_token> fences;
    std::vector<std::unique_ptr<signal>> arrived;
    for (int i = 0; i < 5; ++i) arrived.push_back(std::make_unique<signal>());
    group_of_actors all{who};
    for (int i = 0; i < 5; ++i) {
      all.start([&, i] {
        if (i > 0) arrived[i - 1]->wait();
        arrived[i]->set();  // on fibers nobody runs until we wait; on threads the order is not looked at
        const std::lock_guard guard{lock};
        order.push_back(i);
        fences.push_back(lock.held().fence());
      });
    }
    all.start([&] {
      arrived[4]->wait();
      held.release();
    });
    all.join();
    CHECK(order.size() == 5);
    if (who == callers::fibers) CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(std::is_sorted(fences.begin(), fences.end()));
    CHECK(std::adjacent_find(fences.begin(), fences.end()) == fences.end());
    CHECK(first < fences.front());
  }

  LATCHKEY_TEST_CASES("a place is given up after its turns when somebody else waits", who, all_callers()) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    mutex busy{first, path, {.turns = 3}};
    mutex outside{second, path};
    auto held = busy.acquire();
    std::atomic<int> turns{0};
    std::atomic<bool> outside_done{false};
    group_of_actors all{who};
    for (int i = 0; i < 4; ++i) {
      all.start([&] {
        while (!outside_done) {
          const std::lock_guard guard{busy};
          ++turns;
        }
      });
    }
    all.start([&] {
      outside.lock();
      CHECK(turns <= 2);  // what was left of the turns of the place before ours
      outside_done = true;
      outside.unlock();
    });
    all.start([&] {
      REQUIRE(queued(path, 2));
      catch_up(first);  // its server may lag: turns are not counted until the client hears of the other one
      held.release();
    });
    all.join();
  }

  TEST_CASE("the node says who waits, and is named as Curator names its own") {
    const auto path = fresh_path();
    auto options = quick();
    options.label = "billing \"night\"";
    client owner{servers().connect_string(), options};
    mutex lock{owner, path};
    const std::lock_guard guard{lock};
    const auto name = queue_at(path).at(0);
    CHECK(name.starts_with("_c_"));
    CHECK(name.size() == std::string{"_c_"}.size() + 36 + std::string{"-lock-0000000000"}.size());
    const auto data = servers().get(path + "/" + name).value();
    CHECK(data.find("\"label\":\"billing \\\"night\\\"\"") != std::string::npos);
    CHECK(data.find("\"kind\":\"lock\"") != std::string::npos);
  }

  TEST_CASE("a chroot is created, and is where the lock is") {
    const auto path = fresh_path();
    auto root = "/root-of" + path;
    std::replace(root.begin() + 1, root.end(), '/', '-');
    client owner{servers().connect_string() + root, quick()};
    mutex lock{owner, path};
    const std::lock_guard guard{lock};
    CHECK(lock.held());
    CHECK(queue_at(root + path).size() == 1);
  }
}

}  // namespace latchkey::testing
