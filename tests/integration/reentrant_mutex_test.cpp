// SPDX-License-Identifier: Apache-2.0
#include <latchkey/reentrant_mutex.hpp>

#include <unistd.h>

#include <latchkey/log.hpp>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#ifndef LATCHKEY_WITHOUT_FIBERS
#include <boost/fiber/algo/shared_work.hpp>
#include <boost/fiber/barrier.hpp>
#include <boost/fiber/operations.hpp>
#endif

#include "log_lines.hpp"
#include "support/reached.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("reentrant mutex") {
  LATCHKEY_TEST_CASES("its owner takes it again without a request, under the same grant", who, all_callers()) {
    const auto path = fresh_path();
    servers().create_all(path);
    counted here;
    reentrant_mutex lock{here.owner, path};
    group_of_actors all{who};
    all.start([&] {
      CHECK(lock.depth() == 0);
      lock.lock();
      CHECK(here.waited_for_since() == counts{{"create2", 1}, {"getChildren2", 1}});
      const auto grant = lock.held();
      lock.lock();
      CHECK(lock.lock(std::stop_token{}));
      CHECK(lock.try_lock());
      CHECK(lock.try_lock_for(0s));
      CHECK(lock.try_lock_for(1h));
      CHECK(lock.depth() == 6);
      CHECK(lock.held() == grant);
      CHECK(lock.held().fence() == grant.fence());
      for (int i = 0; i < 5; ++i) lock.unlock();
      CHECK(lock.depth() == 1);
      CHECK(grant);
      CHECK(here.waited_for_since().empty());
      lock.unlock();
      CHECK(lock.depth() == 0);
      CHECK_FALSE(grant);
      CHECK(queued(path, 0));
      CHECK(here.waited_for_since() == counts{{"delete", 1}});
    });
    all.join();
  }

  LATCHKEY_TEST_CASES("to all others of its process it is one lock, held until the last unlock", who, all_callers()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    reentrant_mutex lock{owner, path};
    std::atomic<bool> second_in{false};
    signal held;
    group_of_actors all{who};
    all.start([&] {
      const std::lock_guard outer{lock};
      {
        const std::lock_guard inner{lock};
        held.set();
      }
      CHECK_FALSE(second_in);
      CHECK(lock.held());
    });
    all.start([&] {
      held.wait();
      lock.lock();
      second_in = true;
      CHECK(lock.depth() == 1);
      lock.unlock();
    });
    all.join();
    CHECK(queued(path, 0));
  }

  LATCHKEY_TEST_CASES("a fiber that does not have it cannot take it again, nor see how deep it is", who,
                      all_callers()) {
    client owner{servers().connect_string(), quick()};
    reentrant_mutex lock{owner, fresh_path()};
    signal held;
    signal looked;
    group_of_actors all{who};
    all.start([&] {
      lock.lock();
      lock.lock();
      held.set();
      looked.wait();
      CHECK(lock.depth() == 2);
      lock.unlock();
      lock.unlock();
    });
    all.start([&] {
      held.wait();
      CHECK_FALSE(lock.try_lock());
      CHECK_FALSE(lock.try_lock_for(10ms));
      CHECK(lock.depth() == 0);
      looked.set();
    });
    all.join();
  }

  LATCHKEY_TEST_CASES("taking it again after a loss is an error, until it has been unlocked as often as locked", who,
                      all_callers()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    reentrant_mutex lock{owner, path};
    group_of_actors all{who};
    all.start([&] {
      lock.lock();
      lock.lock();
      const auto grant = lock.held();
      expire_session(owner);
      REQUIRE(grant.wait_for_end(patience()));
      CHECK_FALSE(lock.held());
      CHECK(error_of([&] { lock.lock(); }) == errc::lock_lost);
      CHECK(error_of([&] { (void)lock.try_lock(); }) == errc::lock_lost);
      CHECK(error_of([&] { (void)lock.try_lock_for(1h); }) == errc::lock_lost);
      CHECK(error_of([&] { (void)lock.lock(std::stop_token{}); }) == errc::lock_lost);
      CHECK(lock.depth() == 2);
      lock.unlock();
      CHECK(error_of([&] { lock.lock(); }) == errc::lock_lost);
      lock.unlock_checked();
      CHECK(lock.depth() == 0);
      lock.lock();
      lock.lock();
      CHECK(lock.held().fence() > grant.fence());
      CHECK(lock.depth() == 2);
      lock.unlock();
      lock.unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("an unlock by somebody else is harmless and loud", who, all_callers()) {
    const log_lines log;
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    reentrant_mutex lock{owner, path};
    signal held;
    signal meddled;
    group_of_actors all{who};
    all.start([&] {
      CHECK(error_of([&] { lock.unlock_checked(); }) == not_permitted);
      lock.lock();
      held.set();
      meddled.wait();
      CHECK(lock.held());
      CHECK(lock.depth() == 1);
      CHECK(error_of([&] { lock.unlock_checked(); }) == std::error_code{});
      CHECK(error_of([&] { lock.unlock_checked(); }) == not_permitted);
    });
    all.start([&] {
      held.wait();
      CHECK(error_of([&] { lock.unlock_checked(); }) == not_permitted);
      CHECK(log.with(path).empty());
      lock.unlock();
      REQUIRE(log.with(path).size() == 1);
      CHECK(log.with(path)[0].find("has not locked it") != std::string::npos);
      meddled.set();
    });
    all.join();
    CHECK(queued(path, 0));
  }

  TEST_CASE("destroyed while it is held twice, it lets go") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    grant held;
    {
      reentrant_mutex lock{owner, path};
      lock.lock();
      lock.lock();
      held = lock.held();
    }
    CHECK_FALSE(held);
    CHECK(queued(path, 0));
  }

#ifndef LATCHKEY_WITHOUT_FIBERS
  TEST_CASE("a fiber that has moved to another thread is still the owner") {
    constexpr int threads = 3;
    client owner{servers().connect_string(), quick()};
    std::atomic<int> moved{0};
    std::atomic<int> reentered{0};
    boost::fibers::barrier done{threads};
    on_threads pool;
    for (int thread = 0; thread < threads; ++thread) {
      pool.start([&, thread] {
        boost::fibers::use_scheduling_algorithm<boost::fibers::algo::shared_work>();
        on_fibers work;
        for (int i = 0; thread == 0 && i < 6; ++i) {
          work.start([&] {
            reentrant_mutex lock{owner, fresh_path()};
            lock.lock();
            const auto grant = lock.held();
            const auto before = ::gettid();  // not std::this_thread: the compiler may take that for a constant
            const auto end = std::chrono::steady_clock::now() + patience();
            while (::gettid() == before && std::chrono::steady_clock::now() < end) boost::this_fiber::yield();
            if (::gettid() != before) ++moved;
            lock.lock();
            if (lock.depth() == 2 && lock.held() == grant) ++reentered;
            lock.unlock_checked();
            lock.unlock_checked();
          });
        }
        work.wait();
        done.wait();  // a scheduler must not end while others have fibers of its thread
        work.join();
      });
    }
    pool.join();
    CHECK(moved == 6);
    CHECK(reentered == 6);
  }
#endif
}

}  // namespace latchkey::testing
