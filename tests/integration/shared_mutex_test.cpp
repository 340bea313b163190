// SPDX-License-Identifier: Apache-2.0
#include <latchkey/shared_mutex.hpp>

#include <atomic>
#include <mutex>
#include <shared_mutex>

#include <doctest/doctest.h>

#include "log_lines.hpp"
#include "support/reached.hpp"
#include "support/three_clients.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("shared mutex") {
  LATCHKEY_TEST_CASES("readers read together, over all clients, and keep a writer out", who, all_callers()) {
    three_clients all_of;
    auto& [path, first, second, third, a, b, c] = all_of;
    group_of_actors all{who};
    all.start([&] {
      a.lock_shared();
      REQUIRE(b.try_lock_shared());
      REQUIRE(c.try_lock_shared_for(patience()));
      CHECK(a.held_shared());
      CHECK(b.held_shared());
      CHECK(c.held_shared());
      CHECK_FALSE(a.held());
      const auto nodes = queue_at(path);
      CHECK(nodes.size() == 3);
      for (const auto& node : nodes) CHECK(is_reader(node));
      shared_mutex writer{third, path};
      CHECK_FALSE(writer.try_lock());
      a.unlock_shared();
      b.unlock_shared();
      CHECK_FALSE(writer.try_lock_for(10ms));
      c.unlock_shared();
      CHECK(writer.try_lock_for(patience()));
      CHECK_FALSE(a.try_lock_shared());
      writer.unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("a writer is alone, whoever reads and writes", who, all_callers()) {
    three_clients all_of;
    std::atomic<int> readers{0};
    std::atomic<int> writers{0};
    std::atomic<int> overlaps{0};
    std::atomic<int> unheld{0};
    group_of_actors all{who};
    for (auto* const lock : {&all_of.a, &all_of.b, &all_of.c}) {
      for (int i = 0; i < 2; ++i) {
        all.start([&, lock] {
          for (int round = 0; round < 8; ++round) {
            const std::shared_lock guard{*lock};
            ++readers;
            if (writers != 0) ++overlaps;
            if (!lock->held_shared()) ++unheld;
            pause();
            --readers;
          }
        });
      }
      all.start([&, lock] {
        for (int round = 0; round < 5; ++round) {
          const std::lock_guard guard{*lock};
          if (++writers != 1 || readers != 0) ++overlaps;
          if (!lock->held()) ++unheld;
          pause();
          --writers;
        }
      });
    }
    all.join();
    CHECK(overlaps == 0);
    CHECK(unheld == 0);
    CHECK(leaves_nothing(all_of.path));
  }

  LATCHKEY_TEST_CASES("a fiber that has the lock and waits for it again is told at once", who, all_callers()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    shared_mutex lock{owner, path};
    group_of_actors all{who};
    all.start([&] {
      lock.lock_shared();
      CHECK(error_of([&] { lock.lock(); }) == deadlock);
      CHECK(error_of([&] { (void)lock.try_lock_for(1h); }) == deadlock);
      CHECK(error_of([&] { lock.lock_shared(); }) == deadlock);
      CHECK(error_of([&] { (void)lock.lock_shared(std::stop_token{}); }) == deadlock);
      CHECK_FALSE(lock.try_lock());
      CHECK_FALSE(lock.try_lock_shared());
      CHECK(lock.held_shared());
      lock.unlock_shared();
      lock.lock();
      CHECK(error_of([&] { lock.lock_shared(); }) == deadlock);
      CHECK(error_of([&] { (void)lock.try_lock_shared_for(1h); }) == deadlock);
      CHECK_FALSE(lock.try_lock_shared());
      CHECK(lock.held());
      CHECK(queue_at(path).size() == 1);
      lock.unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("after a loss nobody of its object is let in until the unlock, and a try says so at once", who,
                      all_callers()) {
    for (const bool reads : {true, false}) {
      CAPTURE(reads);
      const auto path = fresh_path();
      client owner{servers().connect_string(), quick()};
      shared_mutex lock{owner, path};
      std::atomic<bool> second_in{false};
      signal lost;
      signal tried;
      group_of_actors all{who};
      all.start([&] {
        reads ? lock.lock_shared() : lock.lock();
        const auto grant = reads ? lock.held_shared() : lock.held();
        expire_session(owner);
        REQUIRE(grant.wait_for_end(patience()));
        REQUIRE(missing_connection(owner) == "");
        lost.set();
        tried.wait();
        REQUIRE(queued(path, 1));  // of the second, who has the lock at the ensemble now
        CHECK_FALSE(second_in);
        reads ? lock.unlock_shared() : lock.unlock();
        CHECK(eventually([&] { return second_in.load(); }));
      });
      all.start([&] {
        lost.wait();
        const bool taken = reads ? lock.try_lock() : lock.try_lock_shared();
        CHECK_FALSE(taken);
        tried.set();
        reads ? lock.lock() : lock.lock_shared();
        second_in = true;
        reads ? lock.unlock() : lock.unlock_shared();
      });
      all.join();
      CHECK(leaves_nothing(path));
    }
  }

  LATCHKEY_TEST_CASES("a reader that waits to join is let in though the last of those who read leaves meanwhile", who,
                      all_callers()) {
    const auto path = fresh_path();
    reached_by_proxy here{quick(20s)};
    shared_mutex lock{here.owner, path, {.share_for = 0ms}};  // so that it is asked first whether anybody waits
    signal held;
    group_of_actors all{who};
    all.start([&] {
      lock.lock_shared();
      here.net.reset_requests();
      here.net.hold_reply_of_next(opcode::get_children2);
      held.set();
      REQUIRE(has_sent(here.net, opcode::get_children2));
      REQUIRE(here.net.wait_for_faults(patience()));  // the reply is there, and held
      lock.unlock_shared();
      here.net.release_held();
    });
    all.start([&] {
      held.wait();
      CHECK(lock.try_lock_shared_for(patience()));
      CHECK(lock.held_shared());
      lock.unlock_shared();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("readers of one object that try at the same time all succeed", who, all_callers()) {
    constexpr int readers = 8;
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    shared_mutex lock{owner, path};
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> reading{0};
      group_of_actors all{who};
      for (int i = 0; i < readers; ++i) {
        all.start([&] {
          REQUIRE(lock.try_lock_shared());
          ++reading;
          CHECK(eventually([&] { return reading == readers; }));
          lock.unlock_shared();
        });
      }
      all.join();
    }
    CHECK(leaves_nothing(path));
  }

  TEST_CASE("std's guards take it to read and to write") {
    client owner{servers().connect_string(), quick()};
    shared_mutex one{owner, fresh_path()};
    shared_mutex two{owner, fresh_path()};
    {
      const std::shared_lock reading{one};
      const std::unique_lock writing{two};
      CHECK(one.held_shared());
      CHECK(two.held());
    }
    {
      const std::scoped_lock both{one, two};
      CHECK(one.held());
      CHECK(two.held());
    }
    CHECK(std::shared_lock{one, std::try_to_lock}.owns_lock());
    CHECK(std::shared_lock{one, 5s}.owns_lock());
    CHECK(std::shared_lock{one, std::chrono::system_clock::now() + 5s}.owns_lock());
    REQUIRE(one.lock_shared(std::stop_token{}));
    const std::shared_lock adopted{one, std::adopt_lock};
    CHECK(one.held_shared());
  }

  TEST_CASE("unlock_shared() by somebody who does not read is harmless and loud") {
    const log_lines log;
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    shared_mutex lock{owner, path};
    lock.lock_shared();
    on_threads other;
    other.start([&] { lock.unlock_shared(); });
    other.join();
    CHECK(log.with(path).size() == 1);
    CHECK(lock.held_shared());
    lock.unlock();  // the caller reads: it is told which call it wants
    CHECK(log.with("holds the lock in the other mode, and was ignored; call unlock_shared()").size() == 1);
    CHECK(lock.held_shared());
    lock.unlock_shared();
    lock.lock();
    lock.unlock_shared();
    CHECK(log.with("holds the lock in the other mode, and was ignored; call unlock()").size() == 1);
    lock.unlock();
    CHECK(log.with(path).size() == 3);
    lock.unlock();  // to write: nothing happens
    CHECK(leaves_nothing(path));
  }
}

}  // namespace latchkey::testing
