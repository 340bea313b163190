// SPDX-License-Identifier: Apache-2.0
#include <latchkey/mutex.hpp>

#include <atomic>
#include <mutex>

#include <doctest/doctest.h>

#include "support/reached.hpp"
#include "support/support.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("faults") {
  LATCHKEY_TEST_CASES("the reply to the delete is lost, after or before its effect", who, all_callers()) {
    for (const bool after : {true, false}) {
      CAPTURE(after);
      const auto path = fresh_path();
      reached_by_proxy here;
      mutex lock{here.owner, path};
      group_of_actors all{who};
      all.start([&] {
        lock.lock();
        if (after) {
          here.net.drop_reply_of_next(opcode::remove);
        } else {
          here.net.drop_next(opcode::remove);
        }
        lock.unlock();
        CHECK(queued(path, 0));
        CHECK(lock.try_lock_for(patience()));
        lock.unlock();
      });
      all.join();
      CHECK(queued(path, 0));
    }
  }

  LATCHKEY_TEST_CASES("a call that is cancelled while its create is in flight leaves no node though the reply is lost",
                      who, all_callers()) {
    const auto path = fresh_path();
    servers().create_all(path);
    reached_by_proxy here;
    mutex lock{here.owner, path};
    std::stop_source stop;
    here.net.hold_reply_of_next(opcode::create2);
    group_of_actors all{who};
    all.start([&] { CHECK_FALSE(lock.lock(stop.get_token())); });
    all.start([&] {
      REQUIRE(queued(path, 1));
      stop.request_stop();
    });
    all.join();
    here.net.disconnect();
    CHECK(queued(path, 0));
  }

  LATCHKEY_TEST_CASES("the predecessor vanishes between list and watch", who, all_callers()) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    reached_by_proxy here;
    mutex holder{first, path};
    mutex waiter{here.owner, path};
    auto held = holder.acquire();
    here.net.hold_reply_of_next(opcode::get_children2);
    group_of_actors all{who};
    all.start([&] {
      CHECK(waiter.try_lock_for(patience()));
      waiter.unlock();
    });
    all.start([&] {
      REQUIRE(queued(path, 2));
      REQUIRE(here.net.wait_for_faults(patience()));
      held.release();
      REQUIRE(queued(path, 1));
      here.net.release_held();
    });
    all.join();
    CHECK(queued(path, 0));
  }

  TEST_CASE("a release during an outage is done after it, and the same process can lock again") {
    const auto path = fresh_path();
    reached_by_proxy here{quick(60s)};  // whose end would delete the node, too, after longer than this takes
    mutex lock{here.owner, path};
    lock.lock();
    const auto session = here.owner.session_id();
    here.net.cut();
    REQUIRE(eventually([&] { return !here.owner.connected(); }));
    lock.unlock();
    CHECK_FALSE(lock.held());
    CHECK(queue_at(path).size() == 1);
    here.net.heal();
    REQUIRE(missing_connection(here.owner) == "");
    CHECK(queued(path, 0));
    CHECK(lock.try_lock_for(patience()));
    CHECK(here.owner.session_id() == session);
    lock.unlock();
  }

  LATCHKEY_TEST_CASES("one waiter is woken by a release, whoever else waits", who, all_callers()) {
    constexpr int waiters = 6;
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    mutex holder{first, path};
    auto held = holder.acquire();
    std::vector<std::unique_ptr<reached_by_proxy>> hosts;
    std::vector<std::unique_ptr<mutex>> locks;
    for (int i = 0; i < waiters; ++i) {
      hosts.push_back(std::make_unique<reached_by_proxy>());
      locks.push_back(std::make_unique<mutex>(hosts.back()->owner, path));
    }
    signal finish;
    std::atomic<int> granted{0};
    group_of_actors all{who};
    for (auto& lock : locks) {
      all.start([&, mine = lock.get()] {
        mine->lock();
        ++granted;
        finish.wait();
        mine->unlock();
      });
    }
    all.start([&] {
      REQUIRE(queued(path, waiters + 1));
      REQUIRE(eventually([&] {
        std::size_t watches = 0;
        for (auto& host : hosts) watches += watches_of(host->owner.session_id());
        return watches == 2 * waiters;  // on the node ahead, and on the own one
      }));
      for (auto& host : hosts) host->net.reset_requests();
      held.release();
      REQUIRE(eventually([&] { return granted == 1; }));
      std::uint64_t requests = 0;
      std::uint64_t looks = 0;  // ahead, of those who were not woken
      for (auto& host : hosts) {
        for (const auto& [name, count] : requests_of(host->net)) (name == "getChildren2" ? looks : requests) += count;
      }
      CHECK(requests <= 1);  // a proof at most: the waiter knows that nobody else was ahead
      CHECK(looks <= 4 * (waiters - 1));
      finish.set();
    });
    all.join();
    CHECK(queued(path, 0));
  }

  TEST_CASE("the leader is killed: grants and waiters survive when the session does") {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick(60s)};
    client second{servers().connect_string(), quick(60s)};
    mutex holder{first, path};
    mutex waiter{second, path};
    holder.lock();
    const auto grant = holder.held();
    on_threads all;
    all.start([&] {
      CHECK(waiter.try_lock_for(60s));
      CHECK_FALSE(grant);
      CHECK(waiter.held().fence() > grant.fence());
      waiter.unlock();
    });
    REQUIRE(queued(path, 2));
    const auto leader = servers().wait_for_leader(20s);
    servers().kill(leader);
    servers().wait_for_quorum(20s);
    CHECK(grant);
    holder.unlock();
    all.join();
    servers().start(leader);
    CHECK(queued(path, 0));
  }

  TEST_CASE("children of others do not disturb") {
    const auto path = fresh_path();
    servers().create_all(path);
    for (const auto* name : {"00", "config", "name-", "lock-", "x-0000000000"}) servers().create(path + "/" + name);
    client owner{servers().connect_string(), quick()};
    mutex lock{owner, path};
    CHECK(lock.try_lock());
    lock.unlock();
    CHECK(queued(path, 0));
  }

  TEST_CASE("the parent is reaped between its creation and ours") {
    const auto path = fresh_path();
    reached_by_proxy here;
    mutex lock{here.owner, path};
    // The second of the containers is lost with the connection; the first is taken away before it is back.
    here.net.drop_next(opcode::create_container);
    CHECK(lock.try_lock_for(patience()));
    lock.unlock();
    REQUIRE(queued(path, 0));
    REQUIRE(servers().remove(path));
    CHECK(lock.try_lock_for(patience()));
    const auto token = lock.held().fence();
    lock.unlock();
    REQUIRE(queued(path, 0));
    REQUIRE(servers().remove(path));
    CHECK(lock.try_lock_for(patience()));
    CHECK(lock.held().fence() > token);  // though the sequence numbers begin at zero again
    lock.unlock();
  }
}

}  // namespace latchkey::testing
