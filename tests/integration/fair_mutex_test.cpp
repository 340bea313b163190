// SPDX-License-Identifier: Apache-2.0
#include <latchkey/fair_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include <doctest/doctest.h>

#include "support/reached.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("fair mutex") {
  LATCHKEY_TEST_CASES("callers of several clients, mixed, are served in the order of their arrival", who,
                      all_callers()) {
    const auto path = fresh_path();
    std::vector<std::unique_ptr<client>> clients;
    std::vector<std::unique_ptr<fair_mutex>> locks;
    for (int i = 0; i < 3; ++i) {
      clients.push_back(std::make_unique<client>(servers().connect_string(), quick()));
      locks.push_back(std::make_unique<fair_mutex>(*clients.back(), path));
    }
    locks.push_back(std::make_unique<fair_mutex>(*clients.back(), path));
    const std::vector<std::size_t> arrivals{0, 1, 0, 0, 2, 1, 1, 3, 2, 0, 3, 1};
    std::vector<std::size_t> order;
    std::vector<fencing_token> fences;
    signal held;
    group_of_actors all{who};
    all.start([&] {
      const std::lock_guard guard{*locks[0]};
      held.set();
      REQUIRE(queued(path, arrivals.size() + 1));
      CHECK(order.empty());
    });
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      all.start([&, i] {
        held.wait();
        REQUIRE(queued(path, i + 1));  // those before it are there
        auto& mine = *locks[arrivals[i]];
        const std::lock_guard guard{mine};
        order.push_back(i);
        fences.push_back(mine.held().fence());
      });
    }
    all.join();
    CHECK(order.size() == arrivals.size());
    CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(std::is_sorted(fences.begin(), fences.end()));
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("a caller that gives up in the middle lets nobody pass those before it", who, all_callers()) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    for (const bool same_object : {true, false}) {
      CAPTURE(same_object);
      fair_mutex lock{first, path};
      fair_mutex other{second, path};
      auto& last_lock = same_object ? lock : other;
      std::stop_source stop;
      std::atomic<bool> released{false};
      signal held;
      signal gone;
      group_of_actors all{who};
      all.start([&] {
        lock.lock();
        held.set();
        REQUIRE(queued(path, 3));
        stop.request_stop();
        REQUIRE(queued(path, 2));
        gone.set();
        REQUIRE(queued(path, 3));  // whoever comes now is behind
        CHECK(lock.held());
        released = true;
        lock.unlock();
      });
      all.start([&] {
        held.wait();
        CHECK_FALSE(lock.lock(stop.get_token()));
        gone.wait();
        CHECK(lock.try_lock_for(patience()));
        lock.unlock();
      });
      all.start([&] {
        REQUIRE(queued(path, 2));
        last_lock.lock();
        CHECK(released);
        CHECK(queued(path, 2));  // a neighbour does not wait for the deletion
        last_lock.unlock();
      });
      all.join();
      CHECK(leaves_nothing(path));
    }
  }

  LATCHKEY_TEST_CASES("the line goes on behind a holder that lost the lock, and nobody of its object overlaps", who,
                      all_callers()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    fair_mutex lock{owner, path};
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};
    std::atomic<int> served{0};
    signal held;
    group_of_actors all{who};
    all.start([&] {
      lock.lock();
      ++inside;
      held.set();
      REQUIRE(queued(path, 4));
      const auto grant = lock.held();
      expire_session(owner);
      REQUIRE(grant.wait_for_end(patience()));
      REQUIRE(queued(path, 3));
      --inside;
      lock.unlock();
    });
    for (int i = 0; i < 3; ++i) {
      all.start([&] {
        held.wait();
        const std::lock_guard guard{lock};
        if (++inside != 1) ++overlaps;
        CHECK(lock.held());
        ++served;
        --inside;
      });
    }
    all.join();
    CHECK(overlaps == 0);
    CHECK(served == 3);
    CHECK(leaves_nothing(path));
  }

#ifndef LATCHKEY_WITHOUT_FIBERS  // fibers all come before the first of them goes on
  TEST_CASE("ten thousand fibers drain in strict order, and a hand-off costs no more in a long line than in a short") {
#ifdef __SANITIZE_ADDRESS__
    constexpr int most = 2'000;
#else
    constexpr int most = 10'000;
#endif
    const auto path = fresh_path();
    servers().create_all(path);
    counted here;
    for (const int waiters : {400, most}) {
      CAPTURE(waiters);
      fair_mutex lock{here.owner, path};
      int next = 0;
      int disorder = 0;
      auto held = lock.acquire();
      here.net.reset_requests();
      on_fibers all;
      for (int i = 0; i < waiters; ++i) {
        all.start([&, i] {
          const std::lock_guard guard{lock};
          if (next++ != i) ++disorder;
        });
      }
      all.start([&] {
        REQUIRE(has_sent(here.net, opcode::create2, static_cast<std::uint64_t>(waiters)));
        REQUIRE(queued(path, static_cast<std::size_t>(waiters) + 1));
        CHECK(next == 0);
        here.net.reset_requests();
        held.release();
      });
      all.join();
      CHECK(next == waiters);
      CHECK(disorder == 0);
      CHECK(queued(path, 0));
      auto sent = here.since();
      const auto own = sent.extract("getData");  // each its own node, which nobody waits for
      if (!own.empty()) CHECK(own.mapped() <= static_cast<std::uint64_t>(waiters) + 1);
      std::uint64_t requests = 0;
      for (const auto& [name, count] : sent) requests += count;
      CHECK(requests <= static_cast<std::uint64_t>(waiters) / 2);  // deletions, most of them gathered, and proofs
    }
  }
#endif
}

}  // namespace latchkey::testing
