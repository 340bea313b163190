// SPDX-License-Identifier: Apache-2.0
/// What every lock of the family promises its callers: one at a time, the next in line, larger and larger tokens.

#include <atomic>
#include <mutex>

#include <doctest/doctest.h>
#ifndef LATCHKEY_WITHOUT_FIBERS
#include <boost/fiber/algo/shared_work.hpp>
#include <boost/fiber/barrier.hpp>
#include <boost/fiber/operations.hpp>
#endif

#include "support/critical_section.hpp"
#include "support/family.hpp"
#include "support/reached.hpp"

namespace latchkey::testing {
namespace {

/// Each lock is taken `rounds` times by each of `each` actors.
template <class Case>
void contend(std::vector<typename Case::lock*> locks, int each, int rounds) {
  critical_section section;
  typename Case::actors all;
  for (int i = 0; i < each; ++i) {
    for (auto* const lock : locks) {
      all.start([&section, lock, rounds] {
        for (int round = 0; round < rounds; ++round) {
          const std::lock_guard guard{*lock};
          section.visit(lock->held());
        }
      });
    }
  }
  all.join();
  section.check(static_cast<int>(locks.size()) * each * rounds);
}

}  // namespace

TEST_SUITE("family exclusion") {
  TEST_CASE_TEMPLATE("a lock is held from lock to unlock and leaves nothing behind", Case, LATCHKEY_FAMILY) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    typename Case::lock lock{owner, path};
    typename Case::actors all;
    all.start([&] {
      CHECK_FALSE(lock.held());
      lock.lock();
      const grant held = lock.held();
      CHECK(held);
      CHECK(held.fence().czxid > 0);
      CHECK(held.valid_until() > boottime_clock::now());
      CHECK_FALSE(held.asked_to_release());
      CHECK(queue_at(path).size() == 1);
      lock.unlock();
      CHECK_FALSE(held);
      CHECK_FALSE(held.loss());
      CHECK_FALSE(lock.held());
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  TEST_CASE_TEMPLATE("callers of several clients never overlap", Case, LATCHKEY_EXCLUSIVE) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    typename Case::lock of_first{first, path};
    typename Case::lock of_second{second, path};
    contend<Case>({&of_first, &of_second}, 4, 6);
    CHECK(queued(path, 0));
  }

  TEST_CASE_TEMPLATE("two objects of one client exclude each other", Case, LATCHKEY_EXCLUSIVE) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    typename Case::lock one{owner, path};
    typename Case::lock two{owner, path};
    contend<Case>({&one, &two}, 1, 10);
    CHECK(queued(path, 0));
  }

#ifndef LATCHKEY_WITHOUT_FIBERS
  TEST_CASE_TEMPLATE("fibers that migrate between threads never overlap", Lock, plain_mutex, reentrant, fair, writer) {
    constexpr int threads = 3;
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    client other{servers().connect_string(), quick()};
    Lock mine{owner, path};
    Lock theirs{other, path};
    critical_section section;
    boost::fibers::barrier done{threads};
    on_threads pool;
    for (int thread = 0; thread < threads; ++thread) {
      pool.start([&, thread] {
        boost::fibers::use_scheduling_algorithm<boost::fibers::algo::shared_work>();
        on_fibers work;
        for (int i = 0; i < 6; ++i) {
          work.start([&, thread] {
            auto& lock = thread == 0 ? theirs : mine;
            for (int round = 0; round < 5; ++round) {
              const std::lock_guard guard{lock};
              boost::this_fiber::yield();  // a chance to go elsewhere with the lock
              section.visit(lock.held());
            }
          });
        }
        work.wait();
        done.wait();  // a scheduler must not end while others have fibers of its thread
        work.join();
      });
    }
    pool.join();
    section.check(threads * 6 * 5);
  }
#endif

  TEST_CASE_TEMPLATE("a lock released by its holder passes to the next in line", Case, LATCHKEY_FAMILY) {
    two_of<Case> here;
    std::atomic<bool> granted{false};
    grant before;
    signal held;
    typename Case::actors all;
    all.start([&] {
      here.holder.lock();
      before = here.holder.held();
      held.set();
      REQUIRE(queued(here.path, 2));
      CHECK_FALSE(granted);
      here.holder.unlock();
    });
    all.start([&] {
      held.wait();
      here.waiter.lock();
      granted = true;
      CHECK_FALSE(before);
      CHECK(here.waiter.held().fence() > before.fence());
      here.waiter.unlock();
    });
    all.join();
    CHECK(granted);
    CHECK(queued(here.path, 0));
  }

  TEST_CASE_TEMPLATE("tokens grow over releases, sessions and re-created parents", Case, LATCHKEY_FAMILY) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    typename Case::lock lock{owner, path};
    typename Case::actors all;
    all.start([&] {
      std::vector<fencing_token> fences;
      const auto take = [&] {
        REQUIRE(lock.try_lock_for(patience()));
        fences.push_back(lock.held().fence());
      };
      take();
      lock.unlock();
      take();
      const auto lost = lock.held();
      expire_session(owner);
      REQUIRE(lost.wait_for_end(patience()));
      lock.unlock();
      take();
      lock.unlock();
      REQUIRE(queued(path, 0));
      REQUIRE(servers().remove(path));
      take();  // though the sequence numbers begin at zero again
      lock.unlock();
      for (std::size_t i = 1; i < fences.size(); ++i) CHECK(fences[i - 1] < fences[i]);
    });
    all.join();
  }

  TEST_CASE_TEMPLATE("std's guards and algorithms take it", Case, LATCHKEY_FAMILY) {
    client owner{servers().connect_string(), quick()};
    typename Case::lock one{owner, fresh_path()};
    typename Case::lock two{owner, fresh_path()};
    typename Case::actors all;
    all.start([&] {
      {
        const std::scoped_lock both{one, two};
        CHECK(one.held());
        CHECK(two.held());
      }
      CHECK_FALSE(one.held());
      {
        const std::unique_lock lock{one, patience()};
        CHECK(lock.owns_lock());
        CHECK(one.held());
      }
      REQUIRE(one.lock(std::stop_token{}));
      {
        const std::lock_guard adopted{one, std::adopt_lock};
        CHECK(one.held());
      }
      CHECK_FALSE(one.held());
    });
    all.join();
  }

  TEST_CASE_TEMPLATE("a lock object that is destroyed while it is held lets go", Case, LATCHKEY_FAMILY) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    grant held;
    {
      typename Case::lock lock{owner, path};
      lock.lock();
      held = lock.held();
      CHECK(held);
    }
    CHECK_FALSE(held);
    CHECK_FALSE(held.loss());
    CHECK(leaves_nothing(path));
  }

  TEST_CASE_TEMPLATE("unlocking what is not locked does nothing", Case, LATCHKEY_FAMILY) {
    client owner{servers().connect_string(), quick()};
    typename Case::lock lock{owner, fresh_path()};
    lock.unlock();
    lock.lock();
    lock.unlock();
    lock.unlock();
    CHECK_FALSE(lock.held());
    lock.lock();
    CHECK(lock.held());
    lock.unlock();
  }
}

}  // namespace latchkey::testing
