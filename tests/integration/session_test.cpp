// SPDX-License-Identifier: Apache-2.0
#include <latchkey/mutex.hpp>

#include <atomic>
#include <mutex>

#include <doctest/doctest.h>

#include "support/support.hpp"

namespace latchkey::testing {
namespace {

/// Ends the session of `owner` at the ensemble, as an expiry would.
void expire_session(client& owner) { REQUIRE(servers().expire(owner.session_id())); }

}  // namespace

TEST_SUITE("session") {
  TEST_CASE_TEMPLATE("an expired session is the loss of its grant, and the next in line is served", actors,
                     LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick(20s)};  // the expiry is known long before the deadline passes
    client second{servers().connect_string(), quick()};
    mutex holder{first, path};
    mutex other{second, path};
    std::atomic<bool> other_granted{false};
    signal lost;
    actors all;
    all.start([&] {
      holder.lock();
      const auto grant = holder.held();
      const std::stop_callback on_loss{grant.stop_token(), [&] { CHECK_FALSE(grant); }};
      REQUIRE(queued(path, 2));
      expire_session(first);
      CHECK(grant.wait_for_end(patience()));
      CHECK_FALSE(grant);
      // The deletion of the node may be heard of before the end of its session.
      const auto why = grant.loss().value();
      CHECK((why == loss_reason::session_expired || why == loss_reason::node_deleted));
      CHECK_FALSE(holder.held());
      holder.unlock();  // does nothing
      CHECK(eventually([&] { return other_granted.load(); }));
      CHECK_FALSE(holder.try_lock());
      lost.set();
      holder.lock();  // works again, in the new session
      CHECK(holder.held().fence() > grant.fence());
      holder.unlock();
    });
    all.start([&] {
      REQUIRE(queued(path, 1));
      other.lock();
      other_granted = true;
      lost.wait();
      other.unlock();
    });
    all.join();
    CHECK(queued(path, 0));
  }

  TEST_CASE_TEMPLATE("a waiter whose session expired queues again, and is not granted the lock on its old node", actors,
                     LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    mutex holder{first, path};
    mutex waiter{second, path};
    holder.lock();
    actors all;
    all.start([&] {
      CHECK(waiter.try_lock_for(patience()));
      CHECK(waiter.held());
      waiter.unlock();
    });
    all.start([&] {
      REQUIRE(queued(path, 2));
      const auto before = queue_at(path);
      const auto old_session = second.session_id();
      expire_session(second);
      REQUIRE(eventually([&] {
        const auto now = queue_at(path);
        return now.size() == 2 && now != before;
      }));
      CHECK(second.session_id() != old_session);
      CHECK(holder.held());
      CHECK_FALSE(waiter.held());
      holder.unlock();
    });
    all.join();
    CHECK(queued(path, 0));
  }

  TEST_CASE("callers of one object wait for the unlock of the one that has lost the lock") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    mutex lock{owner, path};
    std::atomic<bool> second_in{false};
    lock.lock();
    const auto grant = lock.held();
    on_threads all;
    all.start([&] {
      lock.lock();
      second_in = true;
      lock.unlock();
    });
    expire_session(owner);
    REQUIRE(grant.wait_for_end(patience()));
    REQUIRE(eventually([&] { return owner.connected(); }));
    client other{servers().connect_string(), quick()};
    mutex outside{other, path};
    CHECK(outside.try_lock());  // the place is free at the ensemble
    outside.unlock();
    CHECK_FALSE(second_in);
    lock.unlock();
    all.join();
    CHECK(second_in);
  }

  TEST_CASE("a deleted node is the loss of its grant, told at once") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick(20s)};
    mutex lock{owner, path};
    lock.lock();
    const auto grant = lock.held();
    const auto stop = grant.stop_token();  // who asks for it is watched over from now on
    REQUIRE(servers().remove(path + "/" + queue_at(path).at(0)));
    CHECK(grant.wait_for_end(patience()));
    CHECK(grant.loss() == loss_reason::node_deleted);
    CHECK(eventually([&] { return stop.stop_requested(); }));
    lock.unlock();
    CHECK(lock.try_lock());
    lock.unlock();
  }

  TEST_CASE("a deleted node is noticed by the proofs when nobody has asked for more") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick(2s)};
    mutex lock{owner, path};
    lock.lock();
    const auto grant = lock.held();
    REQUIRE(servers().remove(path + "/" + queue_at(path).at(0)));
    CHECK(grant.wait_for_end(patience()));
    CHECK(grant.loss() == loss_reason::node_deleted);
    lock.unlock();
  }

  TEST_CASE_TEMPLATE("a waiter whose node was deleted queues again", actors, LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    mutex holder{first, path};
    mutex waiter{second, path};
    holder.lock();
    actors all;
    all.start([&] {
      CHECK(waiter.try_lock_for(patience()));
      waiter.unlock();
    });
    all.start([&] {
      REQUIRE(queued(path, 2));
      REQUIRE(servers().remove(path + "/" + queue_at(path).at(1)));
      CHECK(holder.held());
      holder.unlock();
    });
    all.join();
    CHECK(queued(path, 0));
  }

  TEST_CASE_TEMPLATE("deleting a waiter in the middle does not promote its successor", actors, LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client one{servers().connect_string(), quick()};
    client two{servers().connect_string(), quick()};
    client three{servers().connect_string(), quick()};
    mutex holder{one, path};
    mutex middle{two, path};
    mutex last{three, path};
    std::atomic<bool> released{false};
    holder.lock();
    actors all;
    all.start([&] {
      const std::lock_guard guard{middle};
      CHECK(released);
    });
    all.start([&] {
      REQUIRE(queued(path, 2));
      const std::lock_guard guard{last};
      CHECK(released);
    });
    all.start([&] {
      REQUIRE(queued(path, 3));
      const auto before = queue_at(path);
      REQUIRE(servers().remove(path + "/" + before.at(1)));
      // The one that was deleted gives up waiting for its predecessor only when that goes; the last looks at once.
      const auto watched = path + "/" + before.at(0);
      CHECK(eventually([&] {
        std::size_t watchers = 0;
        for (std::size_t i = 0; i < servers().size(); ++i) watchers += servers().admin(i).wchp()[watched].size();
        return watchers == 2;
      }));
      CHECK(holder.held());
      CHECK_FALSE(last.held());
      released = true;
      holder.unlock();
    });
    all.join();
  }

  TEST_CASE_TEMPLATE("closing a client wakes every waiter and leaves nothing", actors, LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    mutex holder{first, path};
    mutex waiter{second, path};
    mutex also_held{second, path + "-2"};
    holder.lock();
    also_held.lock();
    const auto grant = also_held.held();
    actors all;
    for (int i = 0; i < 3; ++i) {
      all.start([&] { CHECK_THROWS_WITH_AS(waiter.lock(), doctest::Contains("the client is closed"), error); });
    }
    all.start([&] {
      REQUIRE(queued(path, 2));
      second.close();
      CHECK(queue_at(path).size() == 1);
      CHECK(queue_at(path + "-2").empty());
    });
    all.join();
    CHECK_FALSE(grant);
    CHECK(grant.loss() == loss_reason::client_closed);
    also_held.unlock();
    CHECK_THROWS_AS((void)also_held.try_lock(), error);
    CHECK_THROWS_AS(mutex(second, path).lock(), error);
    second.close();
    CHECK(holder.held());
    holder.unlock();
  }

  TEST_CASE("closing waits for what was just released") {
    const auto path = fresh_path();
    for (int round = 0; round < 20; ++round) {
      client owner{servers().connect_string(), quick()};
      mutex lock{owner, path};
      lock.lock();
      lock.unlock();
      owner.close();
      REQUIRE(queue_at(path).empty());
    }
  }

  TEST_CASE("a client that never connects can be closed, and its calls end when they promised to") {
    client nowhere{"127.0.0.1:1", [] {
                     auto options = quick();
                     options.connect_timeout = 50ms;
                     return options;
                   }()};
    mutex lock{nowhere, "/a"};
    CHECK_FALSE(nowhere.wait_until_connected(20ms));
    CHECK_FALSE(lock.try_lock());
    CHECK_FALSE(lock.try_lock_for(50ms));
    on_threads all;
    all.start([&] { CHECK_THROWS_AS(lock.lock(), error); });
    nowhere.close();
    all.join();
  }

  TEST_CASE("observers are told in order, on one thread, of what happens") {
    std::string told;
    std::mutex guard;
    auto options = quick();
    options.observer = [&](const client_event& event) {
      const std::lock_guard lock{guard};
      told += std::string{to_string(event.what)} + (event.path.empty() ? "" : " " + event.path) + ", ";
    };
    const auto path = fresh_path();
    {
      client owner{servers().connect_string(), options};
      mutex lock{owner, path};
      lock.lock();
      const auto grant = lock.held();
      expire_session(owner);
      CHECK(grant.wait_for_end(patience()));
      lock.unlock();
      CHECK(eventually([&] { return owner.connected(); }));
    }
    CAPTURE(told);
    CHECK(told.starts_with(
        "connected, disconnected, "));  // perhaps again, from a server that has not heard of the end yet
    CHECK(told.ends_with("lost " + path + ", session expired, connected, closed, "));
  }

  TEST_CASE("a slow callback delays neither proofs nor other calls") {
    auto options = quick(2s);
    signal block;
    std::atomic<bool> blocked{false};
    options.observer = [&](const client_event&) {
      if (blocked.exchange(true)) return;
      block.wait();
    };
    client owner{servers().connect_string(), options};
    REQUIRE(eventually([&] { return blocked.load(); }));
    mutex lock{owner, fresh_path()};
    lock.lock();
    const auto grant = lock.held();
    const auto until = grant.valid_until();
    CHECK(eventually([&] { return grant.valid_until() > until + 1s; }));  // two proofs at least
    CHECK(grant);
    mutex other{owner, fresh_path()};
    CHECK(other.try_lock_for(patience()));
    other.unlock();
    lock.unlock();
    block.set();
  }
}

}  // namespace latchkey::testing
