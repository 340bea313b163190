// SPDX-License-Identifier: Apache-2.0
/// What every lock of the family promises its callers: one at a time, the next in line, larger and larger tokens.

#include <atomic>
#include <mutex>
#include <vector>

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
void contend(callers who, const std::vector<any_lockable*>& locks, int each, int rounds) {
  critical_section section;
  group_of_actors all{who};
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
  LATCHKEY_TEST_CASES("a lock is held from lock to unlock and leaves nothing behind", kind, family()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    const auto lock = kind.make(owner, path);
    group_of_actors all{kind.who};
    all.start([&] {
      CHECK_FALSE(lock->held());
      lock->lock();
      const grant held = lock->held();
      CHECK(held);
      CHECK(held.fence().czxid > 0);
      CHECK(held.valid_until() > boottime_clock::now());
      CHECK_FALSE(held.asked_to_release());
      CHECK(queue_at(path).size() == 1);
      lock->unlock();
      CHECK_FALSE(held);
      CHECK_FALSE(held.loss());
      CHECK_FALSE(lock->held());
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("callers of several clients never overlap", kind, exclusive()) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    const auto of_first = kind.make(first, path);
    const auto of_second = kind.make(second, path);
    contend(kind.who, {of_first.get(), of_second.get()}, 4, 6);
    CHECK(queued(path, 0));
  }

  LATCHKEY_TEST_CASES("two objects of one client exclude each other", kind, exclusive()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    const auto one = kind.make(owner, path);
    const auto two = kind.make(owner, path);
    contend(kind.who, {one.get(), two.get()}, 1, 10);
    CHECK(queued(path, 0));
  }

#ifndef LATCHKEY_WITHOUT_FIBERS
  LATCHKEY_TEST_CASES("fibers that migrate between threads never overlap", kind,
                      kinds_of_locks({&kinds::plain, &kinds::reentrant, &kinds::fair, &kinds::writer})) {
    constexpr int threads = 3;
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    client other{servers().connect_string(), quick()};
    const auto mine = kind->make(owner, path);
    const auto theirs = kind->make(other, path);
    critical_section section;
    boost::fibers::barrier done{threads};
    on_threads pool;
    for (int thread = 0; thread < threads; ++thread) {
      pool.start([&, thread] {
        boost::fibers::use_scheduling_algorithm<boost::fibers::algo::shared_work>();
        on_fibers work;
        for (int i = 0; i < 6; ++i) {
          work.start([&, thread] {
            auto& lock = thread == 0 ? *theirs : *mine;
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

  LATCHKEY_TEST_CASES("a lock released by its holder passes to the next in line", kind, family()) {
    two_of here{kind};
    std::atomic<bool> granted{false};
    grant before;
    signal held;
    group_of_actors all{kind.who};
    all.start([&] {
      here.holder->lock();
      before = here.holder->held();
      held.set();
      REQUIRE(queued(here.path, 2));
      CHECK_FALSE(granted);
      here.holder->unlock();
    });
    all.start([&] {
      held.wait();
      here.waiter->lock();
      granted = true;
      CHECK_FALSE(before);
      CHECK(here.waiter->held().fence() > before.fence());
      here.waiter->unlock();
    });
    all.join();
    CHECK(granted);
    CHECK(queued(here.path, 0));
  }

  LATCHKEY_TEST_CASES("tokens grow over releases, sessions and re-created parents", kind, family()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    const auto lock = kind.make(owner, path);
    group_of_actors all{kind.who};
    all.start([&] {
      std::vector<fencing_token> fences;
      const auto take = [&] {
        REQUIRE(lock->try_lock_for(patience()));
        fences.push_back(lock->held().fence());
      };
      take();
      lock->unlock();
      take();
      const auto lost = lock->held();
      expire_session(owner);
      REQUIRE(lost.wait_for_end(patience()));
      lock->unlock();
      take();
      lock->unlock();
      REQUIRE(queued(path, 0));
      REQUIRE(remove_path(path));
      take();  // though the sequence numbers begin at zero again
      lock->unlock();
      for (std::size_t i = 1; i < fences.size(); ++i) CHECK(fences[i - 1] < fences[i]);
    });
    all.join();
  }

  LATCHKEY_TEST_CASES("a lock object that is destroyed while it is held lets go", kind, family()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    grant held;
    {
      const auto lock = kind.make(owner, path);
      lock->lock();
      held = lock->held();
      CHECK(held);
    }
    CHECK_FALSE(held);
    CHECK_FALSE(held.loss());
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("unlocking what is not locked does nothing", kind, family()) {
    client owner{servers().connect_string(), quick()};
    const auto lock = kind.make(owner, fresh_path());
    lock->unlock();
    lock->lock();
    lock->unlock();
    lock->unlock();
    CHECK_FALSE(lock->held());
    lock->lock();
    CHECK(lock->held());
    lock->unlock();
  }
}

}  // namespace latchkey::testing
