// SPDX-License-Identifier: Apache-2.0
/// An operator deletes nodes: only their owners are affected, and they hear of it at once.

#include <latchkey/fair_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/shared_mutex.hpp>

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "support/lock_of.hpp"
#include "support/reached.hpp"
#include "support/visitor.hpp"

namespace latchkey::testing {
namespace {

/// So long that no proof comes to the rescue: it must be the deletion itself that is heard of.

/// Waits until the session watches the node.
bool watches(const client& who, const std::string& node) {
  return eventually([&] {
    for (std::size_t i = 0; i < servers().size(); ++i) {
      const auto watched = servers().admin(i).wchp();
      const auto found = watched.find(node);
      if (found != watched.end() && std::ranges::count(found->second, who.session_id()) != 0) return true;
    }
    return false;
  });
}

/// When it returns, `who` has heard of all that had happened before the call.
void hear_the_news(client& who) {
  mutex other{who, fresh_path()};
  other.lock();
  other.unlock();
}

/// A client with fresh proofs, as one that holds another lock.
struct busy_client {
  explicit busy_client(std::chrono::milliseconds session_timeout = long_session)
      : self{servers().connect_string(), quick(session_timeout)} {
    other.lock();
  }
  ~busy_client() { other.unlock(); }

  client self;
  mutex other{self, fresh_path()};
};

/// A holds, B waits behind A, D behind B. The node of B is deleted, D moves up, A unlocks.
/// @returns for how long B and D held the lock at the same time.
template <class First, class Waiter, class Next>
std::chrono::nanoseconds delete_waiter(const std::string& path, First& first, Waiter& waiter, client& of_waiter,
                                       Next& next, client& of_next) {
  visitor a{first};
  REQUIRE(eventually([&] { return a.granted(); }));
  visitor b{waiter};
  REQUIRE(queued(path, 2));
  visitor d{next};
  REQUIRE(queued(path, 3));
  const auto before = queue_at(path);
  REQUIRE(watches(of_next, path + "/" + before[1]));
  CHECK(watches(of_waiter, path + "/" + before[1]));
  REQUIRE(servers().remove(path + "/" + before[1]));
  REQUIRE(watches(of_next, path + "/" + before[0]));
  CHECK(queued(path, 3));  // B again, at the end
  CHECK_FALSE(a.lost());
  a.gone();
  REQUIRE(eventually([&] { return d.granted() && queue_at(path).front() != before[0]; }));
  hear_the_news(of_waiter);
  REQUIRE(eventually([&] { return !b.granted() || b.lost(); }));
  CHECK_FALSE(d.lost());
  d.gone();
  CHECK(eventually([&] { return b.granted(); }));
  b.gone();
  return overlap(b, d);
}

}  // namespace

TEST_SUITE("deletions") {
  TEST_CASE("a waiter whose node was deleted is not granted beside the next one: fair, with the holder on one object") {
    const auto path = fresh_path();
    busy_client first;
    busy_client second;
    fair_mutex lock{first.self, path};
    fair_mutex other{second.self, path};
    CHECK(told("fair, one object", delete_waiter(path, lock, lock, first.self, other, second.self)).count() <= 0);
    CHECK(leaves_nothing(path));
  }

  TEST_CASE_TEMPLATE("a waiter whose node was deleted is not granted beside the next one: two clients", lock, mutex,
                     fair_mutex) {
    const auto path = fresh_path();
    busy_client one;
    busy_client two;
    busy_client three;
    lock a{one.self, path};
    lock b{two.self, path};
    lock d{three.self, path};
    CHECK(told("two clients", delete_waiter(path, a, b, two.self, d, three.self)).count() <= 0);
    CHECK(leaves_nothing(path));
  }

  TEST_CASE("a reader whose node was deleted is not granted beside a writer, nor a writer beside a reader") {
    busy_client one;
    busy_client two;
    busy_client three;
    for (const bool reads : {true, false}) {
      CAPTURE(reads);
      const auto path = fresh_path();
      shared_mutex a{one.self, path};
      std::chrono::nanoseconds found{};
      if (reads) {
        reader b{two.self, path};
        shared_mutex d{three.self, path};
        found = told("reader beside writer", delete_waiter(path, a, b, two.self, d, three.self));
      } else {
        shared_mutex b{two.self, path};
        reader d{three.self, path};
        found = told("writer beside reader", delete_waiter(path, a, b, two.self, d, three.self));
      }
      CHECK(found.count() <= 0);
      CHECK(leaves_nothing(path));
    }
  }

  TEST_CASE("a waiter whose node is deleted before it watches it holds the lock for a moment at most") {
    const auto path = fresh_path();
    busy_client one;
    busy_client two;
    busy_client three;
    mutex first{one.self, path};
    mutex waiter{two.self, path};
    mutex next{three.self, path};
    visitor a{first};
    REQUIRE(eventually([&] { return a.granted(); }));
    visitor b{waiter};
    REQUIRE(queued(path, 2));
    REQUIRE(servers().remove(path + "/" + queue_at(path)[1]));
    visitor d{next};
    a.gone();
    // It may have been in line again before the other one came.
    REQUIRE(eventually([&] { return d.granted() || (b.granted() && queue_at(path).size() == 2); }));
    const bool again = !d.granted();
    if (again) b.gone();
    REQUIRE(eventually([&] { return d.granted(); }));
    hear_the_news(two.self);
    REQUIRE(eventually([&] { return again || !b.granted() || b.lost(); }));
    d.gone();
    CHECK(told("deleted at once", overlap(b, d)) < prompt());
    b.gone();
    CHECK(leaves_nothing(path));
  }

  TEST_CASE("a waiter whose path was deleted is not granted beside a newcomer that takes the new path") {
    for (const bool waiter_first : {true, false}) {
      CAPTURE(waiter_first);
      const auto path = fresh_path();
      busy_client one;
      proxy net{servers().addresses()};
      client second{net.connect_string(), quick(long_session)};
      mutex elsewhere{second, fresh_path()};
      elsewhere.lock();
      busy_client three;
      mutex first{one.self, path};
      mutex waiter{second, path};
      mutex newcomer{three.self, path};
      visitor a{first};
      REQUIRE(eventually([&] { return a.granted(); }));
      visitor b{waiter};
      REQUIRE(queued(path, 2));
      auto names = queue_at(path);
      CHECK(watches(second, path + "/" + names[1]));
      net.black_hole();  // it is told of all this late, and of all at once
      if (waiter_first) std::reverse(names.begin(), names.end());
      for (const auto& name : names) REQUIRE(servers().remove(path + "/" + name));
      REQUIRE(servers().remove(path));
      visitor n{newcomer};
      REQUIRE(eventually([&] { return n.granted(); }));
      CHECK(eventually([&] { return a.lost(); }));
      a.gone();
      net.heal();
      hear_the_news(second);
      REQUIRE(eventually([&] { return !b.granted() || b.lost(); }));
      CHECK_FALSE(n.lost());
      if (!b.granted()) CHECK(queued(path, 2));
      n.gone();
      const auto found = told(waiter_first ? "path deleted, the waiter first" : "path deleted", overlap(b, n));
      CHECK(found < (waiter_first ? 1ns : std::chrono::nanoseconds{prompt()}));
      CHECK(eventually([&] { return b.granted(); }));
      b.gone();
      elsewhere.unlock();
      CHECK(leaves_nothing(path));
    }
  }

  TEST_CASE("a neighbour of a holder whose path was deleted and made again waits for the new holder") {
    const auto path = fresh_path();
    busy_client ours;
    busy_client theirs;
    fair_mutex lock{ours.self, path};
    fair_mutex other{theirs.self, path};
    visitor a{lock};
    REQUIRE(eventually([&] { return a.granted(); }));
    REQUIRE(servers().remove_all(path));
    visitor n{other};
    REQUIRE(eventually([&] { return n.granted(); }));
    visitor d{lock};
    REQUIRE(queued(path, 2));
    a.gone();
    hear_the_news(ours.self);
    CHECK_FALSE(d.granted());
    CHECK_FALSE(n.lost());
    n.gone();
    CHECK(eventually([&] { return d.granted(); }));
    d.gone();
    CHECK(told("neighbours over a new parent", overlap(d, n)).count() <= 0);
    CHECK(leaves_nothing(path));
  }

  TEST_CASE("a holder without a stop token hears of the deletion of its node at once") {
    std::mutex guard;
    std::optional<loss_reason> told_of;
    auto options = quick(long_session);
    const auto path = fresh_path();
    options.observer = [&](const client_event& event) {
      if (event.what != client_event::kind::lost || event.path != path) return;
      const std::lock_guard lock{guard};
      told_of = event.reason;
    };
    client owner{servers().connect_string(), options};
    mutex lock{owner, path};
    lock.lock();
    const auto grant = lock.held();
    const auto node = path + "/" + queue_at(path).at(0);
    CHECK(watches(owner, node));
    const auto deleted = boottime_clock::now();
    REQUIRE(servers().remove(node));
    CHECK(eventually([&] { return !grant; }));
    const auto took = boottime_clock::now() - deleted;
    MESSAGE("known after " << std::chrono::duration<double, std::milli>{took}.count() << " ms");
    CHECK(took < long_session / 4);  // the proofs would tell later
    CHECK(eventually([&] {
      const std::lock_guard lock_of_guard{guard};
      return told_of == loss_reason::node_deleted;
    }));
    lock.unlock();
    CHECK(leaves_nothing(path));
  }

  TEST_CASE("a ticket knows that its place was deleted though the one ahead stays") {
    const auto path = fresh_path();
    busy_client one;
    busy_client two;
    fair_mutex theirs{one.self, path};
    fair_mutex lock{two.self, path};
    theirs.lock();
    auto place = lock.enqueue();
    const auto node = path + "/" + queue_at(path).at(1);
    CHECK(watches(two.self, node));
    REQUIRE(servers().remove(node));
    CHECK(eventually([&] { return place.place_lost(); }));
    CHECK(theirs.held());
    place.cancel();
    theirs.unlock();
    CHECK(leaves_nothing(path));
  }
}

}  // namespace latchkey::testing
