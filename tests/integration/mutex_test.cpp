// SPDX-License-Identifier: Apache-2.0
#include <latchkey/mutex.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>

#include <doctest/doctest.h>
#ifndef LATCHKEY_WITHOUT_FIBERS
#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/barrier.hpp>
#include <boost/fiber/operations.hpp>
#endif

#include "support/support.hpp"

namespace latchkey::testing {
namespace {

/// Counts who is inside, and whether anybody else was.
class critical_section {
 public:
  void visit(const mutex& lock) {
    if (inside_.fetch_add(1) != 0) ++overlaps_;
    if (!lock.held()) ++unheld_;
    const auto fence = lock.held().fence();
    if (fence <= last_) ++backwards_;
    last_ = fence;
    ++visits_;
    inside_.fetch_sub(1);
  }
  void check(int visits) const {
    CHECK(overlaps_ == 0);
    CHECK(unheld_ == 0);
    CHECK(backwards_ == 0);
    CHECK(visits_ == visits);
  }

 private:
  std::atomic<int> inside_{0};
  std::atomic<int> overlaps_{0};
  std::atomic<int> unheld_{0};
  std::atomic<int> backwards_{0};
  fencing_token last_;  // guarded by the lock under test
  int visits_ = 0;
};

}  // namespace

TEST_SUITE("mutex") {
  TEST_CASE("a mutex is held from lock to unlock and leaves nothing behind") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    mutex lock{owner, path};
    CHECK_FALSE(lock.held());
    lock.lock();
    const auto grant = lock.held();
    CHECK(grant);
    CHECK(grant.fence().czxid > 0);
    CHECK(grant.valid_until() > boottime_clock::now());
    CHECK(queue_at(path).size() == 1);
    lock.unlock();
    CHECK_FALSE(grant);
    CHECK_FALSE(grant.loss());
    CHECK(queued(path, 0));
  }

  TEST_CASE_TEMPLATE("callers of several clients never overlap", actors, LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    mutex of_first{first, path};
    mutex of_second{second, path};
    critical_section section;
    actors all;
    for (int i = 0; i < 8; ++i) {
      all.start([&, i] {
        auto& mine = i % 2 == 0 ? of_first : of_second;
        for (int round = 0; round < 10; ++round) {
          const std::lock_guard guard{mine};
          section.visit(mine);
        }
      });
    }
    all.join();
    section.check(80);
    CHECK(queued(path, 0));
  }

#ifndef LATCHKEY_WITHOUT_FIBERS
  TEST_CASE("fibers that migrate between threads never overlap") {
    constexpr int threads = 3;
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    client other{servers().connect_string(), quick()};
    mutex mine{owner, path};
    mutex theirs{other, path};
    critical_section section;
    boost::fibers::barrier done{threads};
    on_threads pool;
    for (int thread = 0; thread < threads; ++thread) {
      pool.start([&, thread] {
        boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(threads);
        on_fibers work;
        for (int i = 0; i < 6; ++i) {
          work.start([&, thread] {
            auto& lock = thread == 0 ? theirs : mine;
            for (int round = 0; round < 5; ++round) {
              const std::lock_guard guard{lock};
              boost::this_fiber::yield();  // a chance to go elsewhere with the lock
              section.visit(lock);
            }
          });
        }
        work.join();
        done.wait();  // a scheduler must not end while others may steal from it
      });
    }
    pool.join();
    section.check(threads * 6 * 5);
  }
#endif

  TEST_CASE_TEMPLATE("a mutex released by its holder passes to the next in line", actors, LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    mutex holder{first, path};
    mutex waiter{second, path};
    holder.lock();
    const auto before = holder.held();
    std::atomic<bool> granted{false};
    actors all;
    all.start([&] {
      waiter.lock();
      granted = true;
      CHECK_FALSE(before);
      CHECK(waiter.held().fence() > before.fence());
      waiter.unlock();
    });
    all.start([&] {
      REQUIRE(queued(path, 2));
      CHECK_FALSE(granted);
      holder.unlock();
    });
    all.join();
    CHECK(granted);
  }

  TEST_CASE_TEMPLATE("two objects of one client exclude each other", actors, LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    mutex one{owner, path};
    mutex two{owner, path};
    critical_section section;
    actors all;
    for (auto* lock : {&one, &two}) {
      all.start([&section, lock] {
        for (int round = 0; round < 10; ++round) {
          const std::lock_guard guard{*lock};
          section.visit(*lock);
        }
      });
    }
    all.join();
    section.check(20);
  }

  TEST_CASE_TEMPLATE("a try fails while somebody else has the lock, and takes it when it is free", actors,
                     LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    mutex holder{first, path};
    mutex other{second, path};
    actors all;
    all.start([&] {
      CHECK(holder.try_lock());
      CHECK_FALSE(other.try_lock());
      CHECK_FALSE(other.try_lock_for(0s));
      CHECK_FALSE(other.try_lock_for(-1h));
      CHECK_FALSE(other.try_lock_until(std::chrono::steady_clock::now() - 1s));
      CHECK_FALSE(holder.try_lock());  // by its own holder: no, as well
      holder.unlock();
      REQUIRE(queued(path, 0));
      CHECK(other.try_lock());
      other.unlock();
    });
    all.join();
  }

  TEST_CASE_TEMPLATE("a timed call ends when it promised to", actors, LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    mutex holder{first, path};
    mutex other{second, path};
    holder.lock();
    actors all;
    all.start([&] {
      const auto start = std::chrono::steady_clock::now();
      CHECK_FALSE(other.try_lock_for(300ms));
      const auto took = std::chrono::steady_clock::now() - start;
      CHECK(took >= 300ms);
      CHECK(took < patience());
      CHECK_FALSE(std::unique_lock{other, 20ms}.owns_lock());
      CHECK_FALSE(std::unique_lock{other, std::chrono::system_clock::now() + 20ms}.owns_lock());
      CHECK(queued(path, 1));
    });
    all.join();
    holder.unlock();
    CHECK(other.try_lock_for(std::chrono::hours::max()));
    other.unlock();
  }

  TEST_CASE_TEMPLATE("a stop token cancels the wait and nothing else", actors, LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    mutex holder{first, path};
    mutex other{second, path};
    holder.lock();
    std::stop_source shutdown;
    actors all;
    all.start([&] { CHECK_FALSE(other.lock(shutdown.get_token())); });
    all.start([&] {
      REQUIRE(queued(path, 2));
      shutdown.request_stop();
    });
    all.join();
    CHECK(queued(path, 1));
    CHECK(holder.held());
    CHECK_FALSE(other.lock(shutdown.get_token()));
    CHECK_FALSE(other.try_lock_for(1h, shutdown.get_token()));
    holder.unlock();
    CHECK(other.lock(std::stop_token{}));
    other.unlock();
  }

  TEST_CASE_TEMPLATE("locking again what one holds is an error, not a deadlock", actors, LATCHKEY_ACTORS) {
    client owner{servers().connect_string(), quick()};
    mutex lock{owner, fresh_path()};
    actors all;
    all.start([&] {
      const std::lock_guard guard{lock};
      CHECK_THROWS_WITH_AS(lock.lock(), doctest::Contains("not a reentrant one"), std::system_error);
      CHECK_THROWS_AS((void)lock.try_lock_for(1s), std::system_error);
      CHECK(lock.held());
    });
    all.join();
    CHECK_FALSE(lock.held());
  }

  TEST_CASE_TEMPLATE("callers of one object take turns in the order they came, each with a token of its own", actors,
                     LATCHKEY_ACTORS) {
    client owner{servers().connect_string(), quick()};
    mutex lock{owner, fresh_path(), {.turns = 100}};
    lock.lock();
    const auto first = lock.held().fence();
    std::vector<int> order;
    std::vector<fencing_token> fences;
    std::vector<std::unique_ptr<signal>> arrived;
    for (int i = 0; i < 5; ++i) arrived.push_back(std::make_unique<signal>());
    actors all;
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
      lock.unlock();
    });
    all.join();
    CHECK(order.size() == 5);
    if (!std::is_same_v<actors, on_threads>) CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(std::is_sorted(fences.begin(), fences.end()));
    CHECK(std::adjacent_find(fences.begin(), fences.end()) == fences.end());
    CHECK(first < fences.front());
  }

  TEST_CASE_TEMPLATE("a place is given up after its turns when somebody else waits", actors, LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    mutex busy{first, path, {.turns = 3}};
    mutex outside{second, path};
    busy.lock();
    std::atomic<int> turns{0};
    std::atomic<bool> outside_done{false};
    actors all;
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
      busy.unlock();
    });
    all.join();
  }

  TEST_CASE("std's guards and algorithms take it") {
    client owner{servers().connect_string(), quick()};
    mutex one{owner, fresh_path()};
    mutex two{owner, fresh_path()};
    {
      const std::scoped_lock both{one, two};
      CHECK(one.held());
      CHECK(two.held());
    }
    CHECK_FALSE(one.held());
    if (std::unique_lock lock{one, 5s}) CHECK(one.held());
    if (std::unique_lock lock{one, std::try_to_lock}) CHECK(one.held());
    CHECK(one.lock(std::stop_token{}));
    std::lock_guard adopted{one, std::adopt_lock};
  }

  TEST_CASE("unlocking what is not locked does nothing") {
    client owner{servers().connect_string(), quick()};
    mutex lock{owner, fresh_path()};
    lock.unlock();
    lock.lock();
    lock.unlock();
    lock.unlock();
    CHECK_FALSE(lock.held());
  }

  TEST_CASE("a mutex that is destroyed while it is held lets go") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    grant held;
    {
      mutex lock{owner, path};
      lock.lock();
      held = lock.held();
    }
    CHECK_FALSE(held);
    CHECK(queued(path, 0));
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
    client owner{servers().connect_string() + "/root-of-" + path.substr(6, 4), quick()};
    mutex lock{owner, path};
    const std::lock_guard guard{lock};
    CHECK(lock.held());
    CHECK(queue_at("/root-of-" + path.substr(6, 4) + path).size() == 1);
  }
}

}  // namespace latchkey::testing
