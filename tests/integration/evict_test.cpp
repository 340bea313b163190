// SPDX-License-Identifier: Apache-2.0
/// Deleting the node of a contender by force, and nodes that no session ends.

#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>

#include <mutex>

#include <doctest/doctest.h>
#include <latchkey/testing/raw_client.hpp>

#include "log_lines.hpp"
#include "support/family.hpp"
#include "support/reached.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("queue snapshot") {
  LATCHKEY_TEST_CASES("a holder that is evicted is told, and the next in line is granted the lock", kind, family()) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    const auto holder = kind.make(first, path);
    const auto next = kind.make_rival(second, path);
    signal granted;
    group_of_actors all{kind.who};
    all.start([&] {
      holder->lock();
      const auto grant = holder->held();
      REQUIRE(queued(path, 2));
      CHECK(evict(second, path, queue_snapshot{second, path}.holders()[0].node));
      granted.wait();
      CHECK(eventually([&] { return !grant; }));
      CHECK(grant.loss() == loss_reason::node_deleted);
      holder->unlock();
    });
    all.start([&] {
      REQUIRE(queued(path, 1));
      next->lock();
      granted.set();
      CHECK(next->held());
      next->unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("a waiter that is evicted queues again, at the end", who, all_callers()) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    mutex holder{first, path};
    mutex waiter{second, path};
    signal evicted;
    group_of_actors all{who};
    all.start([&] {
      const std::lock_guard guard{holder};
      REQUIRE(queued(path, 2));
      const auto before = queue_at(path)[1];
      CHECK(evict(first, path, before));
      CHECK(eventually([&] {
        const auto now = queue_at(path);
        return now.size() == 2 && now[1] != before;
      }));
    });
    all.start([&] {
      REQUIRE(queued(path, 1));
      const std::lock_guard guard{waiter};
      CHECK(waiter.held());
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("a permanent node is shown as foreign, and holds the lock until it is evicted", who,
                      all_callers()) {
    const auto path = fresh_path();
    servers().create_all(path);
    raw_client foreign{servers().address(0)};
    foreign.create(path + "/_c_5f3c-lock-", "10.0.0.7", create_mode::persistent_sequential);
    foreign.create(path + "/_c_5f3d-lock-", "10.0.0.8", create_mode::persistent_sequential);
    auto options = quick();
    options.report_waits_after = 100ms;
    const log_lines lines{log_level::warning};
    client owner{servers().connect_string(), options};
    mutex lock{owner, path};
    group_of_actors all{who};
    all.start([&] {
      REQUIRE(queued(path, 3));
      CHECK(eventually([&] { return !lines.with("holder_session=\"none: foreign, permanent\"").empty(); }));
      CHECK_FALSE(lines.with("waiting long for a lock that a permanent node holds, which no session ends").empty());
      const queue_snapshot queue{owner, path};
      CHECK(queue.holders()[0].permanent());
      CHECK(queue.waiters()[0].permanent());
      CHECK_FALSE(queue.waiters()[1].permanent());
      const auto line = to_string(queue);
      CAPTURE(line);
      CHECK(line.starts_with(path + ": lock held by 10.0.0.7 (foreign, permanent) since "));
      CHECK(line.ends_with(", 2 waiting (1 foreign, permanent)"));
      CHECK(evict(owner, path, queue.holders()[0].node));
      CHECK_FALSE(evict(owner, path, queue.holders()[0].node));
      CHECK(evict(owner, path, queue.waiters()[0].node));
    });
    all.start([&] {
      const std::lock_guard guard{lock};
      CHECK(lock.held());
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  TEST_CASE("nothing but the node of a contender is evicted") {
    const auto path = fresh_path();
    servers().create_all(path + "/_c_5f3c-lock-0000000000/child");
    servers().create_all(path + "/config");
    client owner{servers().connect_string(), quick()};
    for (const auto* name : {"", "config", ".", "..", "lock-", "../_c_5f3c-lock-0000000000", "config/lock-0000000000",
                             "/_c_5f3c-lock-0000000000", "_c_5f3c-lease-0000000000", "locks/_c_5f3c-lease-0000000000",
                             "leases/_c_5f3c-lock-0000000000", "leases/locks/_c_5f3c-lock-0000000000",
                             "locks/x/_c_5f3c-lock-0000000000"}) {
      CAPTURE(name);
      CHECK(error_of([&] { evict(owner, path, name); }) == errc::bad_path);
    }
    CHECK(error_of([&] { evict(owner, "/", "_c_5f3c-lock-0000000000"); }) == errc::bad_path);
    CHECK(error_of([&] { evict(owner, path, "_c_5f3c-lock-0000000000"); }) == errc::refused);  // it has a child
    CHECK_FALSE(evict(owner, path, "_c_5f3c-lock-0000000001"));
    CHECK_FALSE(evict(owner, "/evict/missing", "_c_5f3c-lock-0000000000"));
    CHECK(servers().children(path) == std::vector<std::string>{"_c_5f3c-lock-0000000000", "config"});
  }

  TEST_CASE("without the permission d on the path nothing is evicted") {
    const auto path = fresh_path();
    auto options = quick();
    options.authentication = {{"digest", "owner:secret"}};
    options.acl = {{"auth", "", "cdrwa"}, {"world", "anyone", "r"}};
    client owner{servers().connect_string(), options};
    client other{servers().connect_string(), quick()};
    mutex lock{owner, path};
    const std::lock_guard guard{lock};
    const auto node = queue_snapshot{other, path}.holders()[0].node;
    CHECK(error_of([&] { evict(other, path, node); }) == errc::not_authorized);
    CHECK(lock.held());
  }

  TEST_CASE("an eviction whose answer was lost is repeated, and the node was there") {
    const auto path = fresh_path();
    client other{servers().connect_string(), quick()};
    mutex lock{other, path};
    reached_by_proxy here{quick(20s)};
    const std::lock_guard guard{lock};
    const auto node = queue_at(path)[0];
    here.net.black_hole();
    CHECK(error_of([&] { evict(here.owner, path, node, 100ms); }) == errc::unreachable);
    CHECK(lock.held());
    here.net.heal();
    here.net.drop_reply_of_next(opcode::remove);
    CHECK(evict(here.owner, path, node, patience()));
    CHECK(queued(path, 0));
  }
}

}  // namespace latchkey::testing
