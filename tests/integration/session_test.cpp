// SPDX-License-Identifier: Apache-2.0
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/shared_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>

#include <doctest/doctest.h>

#include "support/reached.hpp"
#include "support/support.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("session") {
  TEST_CASE("a deleted node is noticed by the proofs when nobody has asked for more") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick(8s)};
    mutex lock{owner, path};
    lock.lock();
    const auto grant = lock.held();
    REQUIRE(servers().remove(path + "/" + queue_at(path).at(0)));
    CHECK(grant.wait_for_end(patience()));
    CHECK(grant.loss() == loss_reason::node_deleted);
    lock.unlock();
  }

  LATCHKEY_TEST_CASES("deleting a waiter in the middle does not promote its successor", who, all_callers()) {
    const auto path = fresh_path();
    client one{servers().connect_string(), quick()};
    client two{servers().connect_string(), quick()};
    client three{servers().connect_string(), quick()};
    mutex holder{one, path};
    mutex middle{two, path};
    mutex last{three, path};
    std::atomic<bool> released{false};
    auto held = holder.acquire();
    group_of_actors all{who};
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
      CHECK(eventually([&] {
        for (std::size_t i = 0; i < servers().size(); ++i) {
          const auto watchers = servers().admin(i).wchp()[path + "/" + before.at(0)];
          if (std::count(watchers.begin(), watchers.end(), three.session_id()) != 0) return true;
        }
        return false;
      }));
      CHECK(held);
      CHECK_FALSE(last.held());
      released = true;
      held.release();
    });
    all.join();
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
    CHECK_FALSE(nowhere.wait_for_connection(20ms));
    CHECK(error_of([&] { return lock.try_lock(); }) == errc::unreachable);
    CHECK(error_of([&] { return lock.try_lock_for(50ms); }) == errc::unreachable);
    on_threads all;
    all.start([&] { CHECK_THROWS_AS(lock.lock(), error); });
    nowhere.close();
    all.join();
  }

  TEST_CASE("the longest durations are limits like any other") {
    constexpr auto for_ever = std::chrono::hours::max();
    auto options = quick();
    options.connect_timeout = for_ever;
    options.close_timeout = for_ever;
    client nowhere{"127.0.0.1:1", options};
    const auto closed = [&](auto call) { CHECK(error_of(call) == errc::closed); };
    on_threads all;
    std::atomic<int> waiting{0};
    all.start([&] {
      ++waiting;
      closed([&] { static_cast<void>(nowhere.wait_for_connection(for_ever)); });
    });
    all.start([&] {
      ++waiting;
      closed([&] { queue_snapshot(nowhere, "/a", for_ever); });
    });
    all.start([&] {
      ++waiting;
      closed([&] { ask_to_release(nowhere, "/a", for_ever); });
    });
    while (waiting < 3) pause();
    nowhere.close();
    all.join();

    client owner{servers().connect_string(), quick()};
    shared_mutex lock{owner, fresh_path(), {.share_for = for_ever, .linger = for_ever}};
    lock.lock();
    const auto grant = lock.held();
    std::atomic<bool> released{false};
    all.start([&] {
      ++waiting;
      CHECK(grant.wait_for_end(for_ever));
      CHECK(released);
    });
    while (waiting < 4) pause();
    released = true;
    lock.unlock();
    all.join();
  }

  TEST_CASE("closing a client is no loss to its observer, though the grant says how it ended") {
    std::string told;
    std::mutex guard;
    auto options = quick();
    options.observer = [&](const client_event& event) {
      const std::lock_guard lock{guard};
      told += std::string{to_string(event.what)} + ", ";
    };
    client owner{servers().connect_string(), options};
    mutex lock{owner, fresh_path()};
    lock.lock();
    const auto grant = lock.held();
    const auto stop = grant.stop_token();
    owner.close();
    CHECK(told == "connected, closed, ");
    CHECK_FALSE(grant);
    CHECK(grant.loss() == loss_reason::client_closed);
    CHECK(stop.stop_requested());
    lock.unlock();
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
      const auto session = owner.session_id();
      expire_session(owner);
      CHECK(grant.wait_for_end(patience()));
      lock.unlock();
      CHECK(eventually([&] { return owner.connected() && owner.session_id() != session; }));
    }
    CAPTURE(told);
    // The end of the node may be heard of before that of the session. A server that has not heard of either may let the
    // client in once more.
    CHECK(told.starts_with("connected, "));
    CHECK(told.find("disconnected, ") < told.find("session expired, "));
    CHECK(told.find("lost " + path + ", ") < told.find("session expired, "));
    CHECK(told.ends_with("session expired, connected, closed, "));
  }

  TEST_CASE("a slow callback delays neither proofs nor other calls") {
    auto options = quick(8s);
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
    CHECK(eventually([&] { return grant.valid_until() > until + 4s; }));  // two proofs at least
    CHECK(grant);
    mutex other{owner, fresh_path()};
    CHECK(other.try_lock_for(patience()));
    other.unlock();
    lock.unlock();
    block.set();
  }
}

}  // namespace latchkey::testing
