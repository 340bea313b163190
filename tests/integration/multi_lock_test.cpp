// SPDX-License-Identifier: Apache-2.0
/// Several locks at once, or one of several, on real servers: requests, guards, losses.

#include <latchkey/any_lock.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/transaction.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/reached.hpp"

namespace latchkey::testing {
namespace {

std::vector<std::string> fresh_paths(std::size_t count, bool create = true) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < count; ++i) {
    paths.push_back(fresh_path());
    if (create) servers().create_all(paths.back());
  }
  return paths;
}

std::vector<lock_request> alone(const std::vector<std::string>& paths) {
  std::vector<lock_request> locks;
  for (const auto& path : paths) locks.push_back({path});
  return locks;
}

bool all_queued(const std::vector<std::string>& paths, std::size_t count) {
  return std::all_of(paths.begin(), paths.end(), [=](const auto& path) { return queued(path, count); });
}

/// @returns how many round trips `call` took.
template <class Callable>
auto round_trips(counted& here, Callable call) {
  constexpr auto one_way = 600ms;  // far more than a machine stalls
  here.net.delay(one_way);
  const auto start = std::chrono::steady_clock::now();
  call();
  const auto took = std::chrono::steady_clock::now() - start;
  here.net.delay(0ms);
  return took / (2 * one_way);
}

}  // namespace

TEST_SUITE("groups") {
  TEST_CASE("three free locks are one transaction and three lists in one round trip, and one transaction to release") {
    const auto paths = fresh_paths(3);
    counted here;
    multi_lock group{here.owner,
                     {{paths[0]}, {paths[1], lock_request::kind::write}, {paths[2], lock_request::kind::read}}};
    CHECK(round_trips(here, [&] { group.lock(); }) == 1);
    CHECK(here.waited_for_since() == counts{{"multi", 1}, {"getChildren2", 3}});
    CHECK(all_queued(paths, 1));
    group.unlock();
    CHECK(all_queued(paths, 0));
    CHECK(here.waited_for_since() == counts{{"multi", 1}});
  }

  TEST_CASE("a try while one of three locks is held is three lists in one round trip, and no write") {
    const auto paths = fresh_paths(3);
    client other{servers().connect_string(), quick()};
    mutex theirs{other, paths[1]};
    const auto held = theirs.acquire();
    counted here;
    multi_lock group{here.owner, alone(paths)};
    here.catch_up();
    CHECK(round_trips(here, [&] { CHECK_FALSE(group.try_lock()); }) == 1);
    CHECK(here.since() == counts{{"getChildren2", 3}});
    CHECK_FALSE(group.try_lock_for(100ms));
    CHECK(all_queued({paths[0], paths[2]}, 0));
  }

  TEST_CASE("a try for any of eight held locks is eight lists in one round trip, and no write") {
    const auto paths = fresh_paths(8);
    client other{servers().connect_string(), quick()};
    multi_lock theirs{other, alone(paths)};
    auto held = theirs.acquire();
    counted here;
    any_lock any{here.owner, paths};
    here.catch_up();
    CHECK(round_trips(here, [&] { CHECK_FALSE(any.try_lock()); }) == 1);
    CHECK(here.since() == counts{{"getChildren2", 8}});
    CHECK_FALSE(any.index());
    held.release();
    REQUIRE(all_queued(paths, 0));
    here.catch_up();
    CHECK(round_trips(here, [&] { CHECK(any.try_lock()); }) == 2);
    CHECK(any.index().value() < 8);
    any.unlock();
    CHECK(all_queued(paths, 0));
  }

  TEST_CASE("a free one of eight locks is one transaction and eight lists in one round trip") {
    const auto paths = fresh_paths(8);
    counted here;
    any_lock any{here.owner, paths};
    guard held;
    CHECK(round_trips(here, [&] { held = any.acquire(); }) == 1);
    CHECK(held);
    CHECK(queued(paths[any.index().value()], 1));
    CHECK(here.waited_for_since() == counts{{"multi", 2}, {"getChildren2", 8}});  // the others are given up
    held.release();
    CHECK(all_queued(paths, 0));
    CHECK(here.waited_for_since() == counts{{"delete", 1}});
  }

  TEST_CASE("missing paths are created along, and one that the ACL forbids fails the group, which leaves nothing") {
    auto paths = fresh_paths(3, false);
    client owner{servers().connect_string(), quick()};
    multi_lock group{owner, alone(paths)};
    group.lock();
    CHECK(all_queued(paths, 1));
    group.unlock();
    CHECK(all_queued(paths, 0));
    const auto forbidden = paths[1] + "-forbidden";
    auto options = quick();
    options.authentication = {{"digest", "alice:secret"}};
    options.acl = {{"auth", "", "cdrwa"}, {"world", "anyone", "r"}};
    client alice{servers().connect_string(), options};
    mutex made{alice, forbidden};
    made.acquire().release();
    REQUIRE(queued(forbidden, 0));
    multi_lock refused{owner, {{paths[0]}, {forbidden}, {paths[2]}}};
    for (int i = 0; i < 2; ++i) {
      std::string path;
      CHECK(error_of([&] {
              try {
                i == 0 ? refused.lock() : static_cast<void>(refused.try_lock());
              } catch (const error& why) {
                path = why.path();
                throw;
              }
            }) == errc::not_authorized);
      CHECK(path == forbidden);
      CHECK(all_queued({paths[0], paths[2], forbidden}, 0));
    }
  }

  TEST_CASE("paths that make no group are refused by the constructor") {
    client owner{servers().connect_string(), quick()};
    CHECK(error_of([&] { multi_lock{owner, {}}; }) == errc::bad_option);
    CHECK(error_of([&] { multi_lock{owner, {{"/a"}, {"/b"}, {"/a"}}}; }) == errc::bad_option);
    CHECK(error_of([&] { multi_lock{owner, {{"/a"}, {"b"}}}; }) == errc::bad_path);
    CHECK(error_of([&] { any_lock{owner, fresh_paths(any_lock::most_paths + 1, false)}; }) == errc::bad_option);
    CHECK(error_of([&] {
            multi_lock{owner, alone(fresh_paths(multi_lock::most_locks + 1, false))};
          }) == errc::bad_option);
    CHECK(error_of([&] { multi_lock{owner, {{"/a"}}, {.max_hold = -1s}}; }) == errc::bad_option);
    CHECK(error_of([&] { multi_lock{owner, {{"/a", static_cast<lock_request::kind>(3)}}}; }) == errc::bad_option);
  }

  TEST_CASE("a group that is too large for a transaction is refused, and a large one is taken") {
    auto options = quick();
    options.acl = {{"world", "anyone", "cdrwa"}};
    for (int i = 0; i < 200; ++i) options.acl.push_back({"ip", "10.0.0." + std::to_string(i), "cdrwa"});
    client owner{servers().connect_string(), options};
    const auto paths = fresh_paths(multi_lock::most_locks);
    CHECK(error_of([&] { multi_lock{owner, alone(paths)}; }) == errc::too_large);
    multi_lock fewer{owner, alone({paths.begin(), paths.begin() + 32})};
    CHECK(fewer.try_acquire_for(patience()));
    keyed_mutex keys{owner, paths[0]};
    const std::vector<std::string_view> all{paths.begin(), paths.end()};
    CHECK(error_of([&] { (void)keys.lock_all(all); }) == errc::too_large);
  }

  TEST_CASE("a transaction touches no node of the group that it belongs to") {
    const auto paths = fresh_paths(2);
    client owner{servers().connect_string(), quick()};
    multi_lock group{owner, alone(paths)};
    const auto held = group.acquire();
    transaction writes{owner, held.grant()};
    for (const auto& path : paths) {
      const auto own = path + "/" + queue_at(path).at(0);
      CHECK(error_of([&] { writes.once(own); }) == errc::bad_option);
      CHECK(error_of([&] { writes.erase(own); }) == errc::bad_option);
    }
    CHECK(writes.commit());
    CHECK(held);
  }

  TEST_CASE("64 locks at once are taken and released with one transaction each") {
    const auto paths = fresh_paths(multi_lock::most_locks);
    counted here;
    multi_lock group{here.owner, alone(paths)};
    group.lock();
    CHECK(here.waited_for_since() == counts{{"multi", 1}, {"getChildren2", 64}});
    group.unlock();
    CHECK(all_queued(paths, 0));
    CHECK(here.waited_for_since() == counts{{"multi", 1}});
  }

  TEST_CASE("a guard of a group may be moved to another thread, and keeps all locks until it is destroyed there") {
    const auto paths = fresh_paths(2);
    client owner{servers().connect_string(), quick()};
    client other{servers().connect_string(), quick()};
    multi_lock group{owner, alone(paths)};
    mutex theirs{other, paths[1]};
    auto held = group.acquire();
    CHECK_FALSE(theirs.try_lock());
    std::thread{[moved = std::move(held)]() mutable { CHECK(moved); }}.join();
    CHECK(theirs.try_lock_for(patience()));
    CHECK_FALSE(group.held());
    theirs.unlock();
    CHECK(all_queued(paths, 0));
  }

  TEST_CASE("when the node of one lock is deleted, the grant of all ends, and the others are let go") {
    const auto paths = fresh_paths(3);
    client owner{servers().connect_string(), quick()};
    multi_lock group{owner, alone(paths)};
    const auto held = group.acquire();
    const auto stop = held.stop_token();
    servers().remove(paths[1] + "/" + queue_at(paths[1]).at(0));
    CHECK(eventually([&] { return stop.stop_requested(); }));
    CHECK(held.grant().loss() == loss_reason::node_deleted);
    CHECK(all_queued(paths, 0));
  }

  TEST_CASE("groups and readers, writers and mutexes of the same paths keep each other out") {
    const auto paths = fresh_paths(2);
    client owner{servers().connect_string(), quick()};
    client other{servers().connect_string(), quick()};
    shared_mutex book{other, paths[0]};
    mutex press{other, paths[1]};
    multi_lock group{owner, {{paths[0], lock_request::kind::read}, {paths[1]}}};
    auto held = group.acquire();
    catch_up(other);
    CHECK(book.try_lock_shared());
    book.unlock_shared();
    CHECK_FALSE(book.try_lock());
    CHECK_FALSE(press.try_lock());
    const auto token = held.fence();
    held.release();
    const auto later = press.acquire();
    CHECK(later.fence() > token);
    CHECK_FALSE(group.try_lock());
  }
}

}  // namespace latchkey::testing
