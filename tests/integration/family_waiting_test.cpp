// SPDX-License-Identifier: Apache-2.0
/// How the calls of every lock of the family end that do not get it: tries, timeouts, stop tokens, a fiber that would
/// wait for itself.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include <doctest/doctest.h>

#include "support/family.hpp"
#include "support/reached.hpp"

namespace latchkey::testing {

TEST_SUITE("family waiting") {
  LATCHKEY_TEST_CASES("a try fails while somebody else has the lock, and takes it when it is free", kind, family()) {
    two_of here{kind};
    group_of_actors all{kind.who};
    all.start([&] {
      REQUIRE(here.holder->try_lock());
      CHECK_FALSE(here.waiter->try_lock());
      CHECK_FALSE(here.waiter->try_lock_for(0s));
      CHECK_FALSE(here.waiter->try_lock_for(-1h));
      CHECK_FALSE(here.waiter->try_lock_until(std::chrono::steady_clock::now() - 1s));
      CHECK(queued(here.path, 1));
      here.holder->unlock();
      REQUIRE(queued(here.path, 0));
      catch_up(here.second);
      CHECK(here.waiter->try_lock());
      CHECK(here.waiter->held());
      here.waiter->unlock();
    });
    all.join();
    CHECK(leaves_nothing(here.path));
  }

  LATCHKEY_TEST_CASES("a timed call ends when it promised to, and leaves nothing", kind, family()) {
    two_of here{kind};
    group_of_actors all{kind.who};
    all.start([&] {
      here.holder->lock();
      const auto start = std::chrono::steady_clock::now();
      CHECK_FALSE(here.waiter->try_lock_for(100ms));
      const auto took = std::chrono::steady_clock::now() - start;
      CHECK(took >= 100ms);
      CHECK(took < patience());
      CHECK_FALSE(std::unique_lock{*here.waiter, 20ms}.owns_lock());
      CHECK_FALSE(std::unique_lock{*here.waiter, std::chrono::system_clock::now() + 20ms}.owns_lock());
      CHECK(queued(here.path, 1));
      CHECK(here.holder->held());
      here.holder->unlock();
      CHECK(here.waiter->try_lock_for(std::chrono::hours::max()));
      here.waiter->unlock();
    });
    all.join();
    CHECK(leaves_nothing(here.path));
  }

  LATCHKEY_TEST_CASES("a stop token cancels the wait and nothing else", kind, family()) {
    two_of here{kind};
    std::stop_source shutdown;
    signal held;
    group_of_actors all{kind.who};
    all.start([&] {
      held.wait();
      CHECK_FALSE(here.waiter->lock(shutdown.get_token()));
      CHECK_FALSE(here.waiter->lock(shutdown.get_token()));
      CHECK_FALSE(here.waiter->try_lock_for(1h, shutdown.get_token()));
    });
    all.start([&] {
      here.holder->lock();
      held.set();
      REQUIRE(queued(here.path, 2));
      shutdown.request_stop();
      CHECK(queued(here.path, 1));
      CHECK(here.holder->held());
      here.holder->unlock();
    });
    all.join();
    CHECK(here.waiter->lock(std::stop_token{}));
    here.waiter->unlock();
    CHECK(leaves_nothing(here.path));
  }

  LATCHKEY_TEST_CASES(
      "locking again what one holds is an error, not a deadlock", kind,
      by_all_callers({&kinds::plain, &kinds::fair, &kinds::ticketed, &kinds::writer, &kinds::lingering_mutex,
                      &kinds::lingering_writer, &kinds::reader, &kinds::grouped, &kinds::any_of_one})) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    const auto lock = kind.make(owner, path);
    group_of_actors all{kind.who};
    all.start([&] {
      const std::lock_guard guard{*lock};
      CHECK(error_of([&] { lock->lock(); }) == deadlock);
      CHECK(error_of([&] { (void)lock->lock(std::stop_token{}); }) == deadlock);
      CHECK(error_of([&] { (void)lock->try_lock_for(1h); }) == deadlock);
      CHECK_FALSE(lock->try_lock());
      CHECK(lock->held());
      CHECK(queued(path, 1));
    });
    all.join();
    CHECK_FALSE(lock->held());
  }

  LATCHKEY_TEST_CASES("waits that time out leave no node and no watch", kind, family()) {
    two_of here{kind};
    group_of_actors all{kind.who};
    all.start([&] {
      here.holder->lock();
      for (int i = 0; i < 20; ++i) CHECK_FALSE(here.waiter->try_lock_for(2ms));
      for (int i = 0; i < 50; ++i) CHECK_FALSE(here.waiter->try_lock());
      CHECK(queued(here.path, 1));
      // On the holder's node, of a group two: they go with it. Those on its own nodes go as soon as its server knows.
      CHECK(eventually([&] { return watches_of(here.second.session_id()) <= 2; }));
      here.holder->unlock();
    });
    all.join();
    CHECK(leaves_nothing(here.path));
    CHECK(watches_of(here.first.session_id()) == 0);
    CHECK(watches_of(here.second.session_id()) == 0);
  }

  LATCHKEY_TEST_CASES("ten thousand failed tries leave nothing", kind, prompt_locks()) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick(long_session)};
    counted here;
    const auto holder = kind->make_rival(first, path);
    holder->lock();
    constexpr int objects = 50;
    std::vector<std::unique_ptr<any_lockable>> locks;
    for (int i = 0; i < objects; ++i) locks.push_back(kind->make(here.owner, path));
    here.catch_up();
    std::atomic<int> taken{0};
    group_of_actors all{all_callers().back()};
    for (auto& lock : locks) {
      all.start([&taken, mine = lock.get()] {
        for (int i = 0; i < 10'000 / objects; ++i) taken += mine->try_lock() ? 1 : 0;
      });
    }
    all.join();
    CHECK(taken == 0);
    CHECK(here.since() == counts{{"getChildren2", 10'000}});
    CHECK(queue_at(path).size() == 1);
    CHECK(watches_of(here.owner.session_id()) == 0);
    holder->unlock();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("on a frozen network a timed call ends when it promised to", kind, prompt_kinds()) {
    const auto path = fresh_path();
    reached_by_proxy here{quick(60s)};  // the connection is not lost before
    const auto lock = kind.make(here.owner, path);
    group_of_actors all{kind.who};
    all.start([&] {
      REQUIRE(lock->try_lock_for(patience()));
      lock->unlock();
      REQUIRE(queued(path, 0));
      here.net.black_hole();
      const auto start = std::chrono::steady_clock::now();
      CHECK_FALSE(lock->try_lock_for(200ms));
      CHECK(std::chrono::steady_clock::now() - start < 5s);
      here.net.heal();
      CHECK(lock->try_lock_for(patience()));
      lock->unlock();
    });
    all.join();
    CHECK(queued(path, 0));
  }

  LATCHKEY_TEST_CASES("a try that fails for want of a connection leaves no node", kind, prompt_locks()) {
    const auto path = fresh_path();
    servers().create_all(path);
    reached_by_proxy here;
    const auto lock = kind->make(here.owner, path);
    here.net.drop_reply_of_next(opcode::create2);
    CHECK_FALSE(lock->try_lock());
    CHECK(queued(path, 0));
    here.net.cut();
    REQUIRE(eventually([&] { return !here.owner.connected(); }));
    CHECK_FALSE(lock->try_lock());
    here.net.heal();
    REQUIRE(missing_connection(here.owner) == "");
    CHECK(lock->try_lock());
    lock->unlock();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("a call that is cancelled while its create is in flight leaves no node", kind, prompt_kinds()) {
    const auto path = fresh_path();
    servers().create_all(path);
    reached_by_proxy here;
    const auto lock = kind.make(here.owner, path);
    std::stop_source stop;
    here.net.hold_reply_of_next(opcode::create2);
    group_of_actors all{kind.who};
    all.start([&] { CHECK_FALSE(lock->lock(stop.get_token())); });
    all.start([&] {
      REQUIRE(queued(path, 1));
      stop.request_stop();
    });
    all.join();
    CHECK(queue_at(path).size() == 1);
    REQUIRE(here.net.wait_for_faults(patience()));  // the reply is there, and held
    here.net.release_held();
    CHECK(queued(path, 0));
    CHECK(lock->try_lock_for(patience()));
    lock->unlock();
  }
}

}  // namespace latchkey::testing
