// SPDX-License-Identifier: Apache-2.0
/// From writing to reading in one step.

#include <latchkey/shared_mutex.hpp>

#include <atomic>

#include <doctest/doctest.h>

#include "support/reached.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("shared mutex") {
  LATCHKEY_TEST_CASES("downgrading makes a writer a reader, with a grant and a larger token of its own", who,
                      all_callers()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    client other{servers().connect_string(), quick()};
    shared_mutex lock{owner, path};
    shared_mutex theirs{other, path};
    group_of_actors all{who};
    all.start([&] {
      lock.lock();
      const auto writing = lock.held();
      lock.downgrade();
      const auto reading = lock.held_shared();
      CHECK_FALSE(writing);
      CHECK_FALSE(writing.loss());
      CHECK_FALSE(lock.held());
      CHECK(reading);
      CHECK(reading.fence() > writing.fence());
      REQUIRE(queue_at(path).size() == 1);
      CHECK(is_reader(queue_at(path)[0]));
      catch_up(other);
      CHECK_FALSE(theirs.try_lock());
      REQUIRE(theirs.try_lock_shared());
      theirs.unlock_shared();
      CHECK(error_of([&] { lock.lock(); }) == deadlock);
      lock.unlock();  // no writer any more: nothing happens
      CHECK(reading);
      lock.unlock_shared();
      CHECK_FALSE(reading);
      CHECK_FALSE(reading.loss());
      REQUIRE(queued(path, 0));
      catch_up(other);
      CHECK(theirs.try_lock());
      theirs.unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("no queued writer comes in between, and the readers before it are let in", who, all_callers()) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    client third{servers().connect_string(), quick()};
    shared_mutex lock{first, path};
    shared_mutex reader{second, path};
    shared_mutex writer{third, path};
    std::atomic<bool> writer_in{false};
    fencing_token last_read;
    signal held;
    signal read;
    group_of_actors all{who};
    all.start([&] {
      lock.lock();
      held.set();
      REQUIRE(queued(path, 3));
      lock.downgrade();
      read.wait();
      CHECK(queue_at(path).size() == 2);
      CHECK_FALSE(writer_in);
      CHECK(lock.held_shared());
      last_read = lock.held_shared().fence();
      lock.unlock_shared();
    });
    all.start([&] {
      held.wait();
      reader.lock_shared();
      CHECK_FALSE(writer_in);
      reader.unlock_shared();
      CHECK(queued(path, 2));
      read.set();
    });
    all.start([&] {
      REQUIRE(queued(path, 2));
      writer.lock();
      writer_in = true;
      CHECK(writer.held().fence() > last_read);  // whoever reads after a downgrade writes nothing that is newer
      writer.unlock();
    });
    all.join();
    CHECK(writer_in);
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("readers and writers of the same object wait for a downgrade as others do", who, all_callers()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    shared_mutex lock{owner, path};
    std::atomic<bool> writer_in{false};
    signal held;
    signal writer_comes;
    signal read;
    group_of_actors all{who};
    all.start([&] {
      lock.lock();
      const auto fence = lock.held().fence();
      held.set();
      writer_comes.wait();
      lock.downgrade();
      read.wait();
      CHECK_FALSE(writer_in);
      CHECK(lock.held_shared().fence() > fence);
      lock.unlock_shared();
    });
    all.start([&] {
      held.wait();
      lock.lock_shared();
      CHECK(lock.held_shared());
      CHECK_FALSE(writer_in);
      lock.unlock_shared();
      read.set();
    });
    all.start([&] {
      REQUIRE(queued(path, 2));  // the reader's place; the writer waits for the cohort
      writer_comes.set();
      lock.lock();
      writer_in = true;
      lock.unlock();
    });
    all.join();
    CHECK(writer_in);
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("a downgrade is done once, though its reply or its request is lost", who, all_callers()) {
    for (const bool after : {true, false}) {
      CAPTURE(after);
      const auto path = fresh_path();
      reached_by_proxy here{quick(20s)};
      shared_mutex lock{here.owner, path};
      group_of_actors all{who};
      all.start([&] {
        lock.lock();
        const auto writing = lock.held();
        if (after) {
          here.net.drop_reply_of_next(opcode::multi);
        } else {
          here.net.drop_next(opcode::multi);
        }
        lock.downgrade();
        CHECK(here.net.wait_for_faults(0s));
        CHECK_FALSE(writing);
        CHECK_FALSE(writing.loss());
        CHECK(lock.held_shared());
        CHECK(lock.held_shared().fence() > writing.fence());
        REQUIRE(queue_at(path).size() == 1);
        CHECK(is_reader(queue_at(path)[0]));
        lock.unlock_shared();
      });
      all.join();
      CHECK(leaves_nothing(path));
    }
  }

  LATCHKEY_TEST_CASES("the session is lost during a downgrade: the caller has lost the lock as a writer", who,
                      all_callers()) {
    const auto path = fresh_path();
    reached_by_proxy here{quick(20s)};
    shared_mutex lock{here.owner, path};
    group_of_actors all{who};
    all.start([&] {
      lock.lock();
      const auto writing = lock.held();
      here.net.hold_reply_of_next(opcode::multi);
      CHECK(error_of([&] { lock.downgrade(); }) == errc::lock_lost);
      CHECK_FALSE(writing);  // ended when the step began
      CHECK_FALSE(lock.held());
      CHECK_FALSE(lock.held_shared());
      lock.unlock();
      CHECK(lock.try_lock_for(patience()));
      CHECK(lock.held().fence() > writing.fence());
      lock.unlock();
    });
    all.start([&] {
      REQUIRE(has_sent(here.net, opcode::multi));
      expire_session(here.owner);
      here.net.disconnect();  // the reply never comes
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("what was lost before, or is not held to write, cannot be downgraded", who, all_callers()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    shared_mutex lock{owner, path};
    group_of_actors all{who};
    all.start([&] {
      CHECK(error_of([&] { lock.downgrade(); }) == not_permitted);
      lock.lock_shared();
      CHECK(error_of([&] { lock.downgrade(); }) == not_permitted);
      CHECK(lock.held_shared());
      lock.unlock_shared();
      lock.lock();
      const auto grant = lock.held();
      expire_session(owner);
      REQUIRE(grant.wait_for_end(patience()));
      CHECK(error_of([&] { lock.downgrade(); }) == errc::lock_lost);
      CHECK_FALSE(lock.held_shared());
      lock.unlock();
      lock.lock();
      lock.downgrade();
      CHECK(lock.held_shared());
      lock.unlock_shared();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("an operator deletes the writer's node before it is downgraded", who, all_callers()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick(20s)};
    shared_mutex lock{owner, path};
    group_of_actors all{who};
    all.start([&] {
      lock.lock();
      const auto grant = lock.held();
      REQUIRE(servers().remove(path + "/" + queue_at(path).at(0)));
      CHECK(error_of([&] { lock.downgrade(); }) == errc::lock_lost);
      CHECK_FALSE(grant);
      CHECK_FALSE(lock.held_shared());
      lock.unlock();
      CHECK(queue_at(path).empty());
      CHECK(lock.try_lock());
      lock.unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("closing the client ends a downgrade", who, all_callers()) {
    const auto path = fresh_path();
    auto options = quick(20s);
    options.close_timeout = 100ms;
    reached_by_proxy here{options};
    shared_mutex lock{here.owner, path};
    group_of_actors all{who};
    all.start([&] {
      lock.lock();
      const auto writing = lock.held();
      here.net.hold_reply_of_next(opcode::multi);
      CHECK(error_of([&] { lock.downgrade(); }) == errc::closed);
      CHECK_FALSE(writing);
      CHECK_FALSE(lock.held_shared());
      lock.unlock();
    });
    all.start([&] {
      REQUIRE(has_sent(here.net, opcode::multi));
      here.owner.close();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }
}

}  // namespace latchkey::testing
