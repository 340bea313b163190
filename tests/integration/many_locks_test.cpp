// SPDX-License-Identifier: Apache-2.0
/// So many locks with so long paths that what concerns all of them does not fit into one request (1 MiB).

#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/queue_view.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/reached.hpp"

namespace latchkey::testing {
namespace {

/// Locks of one client, with paths of a length, all held.
class many_locks {
 public:
  many_locks(client& owner, int count, std::size_t length) : root_{fresh_path()} {
    const auto folder = root_ + "/" + std::string(length - root_.size() - 7, 'x') + "/";
    for (int i = 0; i < count; ++i) {
      const auto number = std::to_string(i);
      paths_.push_back(folder + std::string(5 - number.size(), '0') + number);
      locks_.push_back(std::make_unique<mutex>(owner, paths_.back()));
    }
    guards_.resize(locks_.size());
    on_threads all;
    std::atomic<int> next{0};
    std::atomic<int> taken{0};
    for (int thread = 0; thread < 16; ++thread) {
      all.start([&] {
        for (int i = next++; i < count; i = next++) {
          auto& mine = guards_[static_cast<std::size_t>(i)];
          mine = locks_[static_cast<std::size_t>(i)]->try_acquire_for(patience());
          if (mine) ++taken;
        }
      });
    }
    all.join();
    REQUIRE(taken == count);
    for (const auto& each : guards_) grants_.push_back(each.grant());
  }

  std::size_t held() const {
    return static_cast<std::size_t>(std::ranges::count_if(grants_, [](const grant& each) { return bool{each}; }));
  }
  std::size_t size() const { return locks_.size(); }
  const std::string& path(std::size_t i) const { return paths_[i]; }

  /// Waits until each grant has been extended so that it is valid for so long from now, or is over.
  bool proved_or_over(std::chrono::milliseconds from_now) const {
    const auto until = boottime_clock::now() + from_now;
    return eventually([&] {
      return std::ranges::all_of(grants_, [&](const grant& each) { return !each || each.valid_until() > until; });
    });
  }
  void unlock() {
    for (auto& each : guards_) each.release();
  }

 private:
  std::string root_;
  std::vector<std::string> paths_;
  std::deque<std::unique_ptr<mutex>> locks_;
  std::vector<guard> guards_;
  std::vector<grant> grants_;
};

/// @returns how many nodes the session has at the ensemble.
std::size_t nodes_of(std::int64_t session) {
  return servers().admin(servers().wait_for_leader(patience())).dump().ephemerals[session].size();
}

/// Restarts the server that the session is connected to.
void restart_server_of(std::int64_t session) {
  for (std::size_t i = 0; i < servers().size(); ++i) {
    const auto connections = servers().admin(i).cons();
    if (std::ranges::count(connections, session, &connection_info::session_id) == 0) continue;
    return servers().restart(i);
  }
  FAIL("no server knows the session");
}

/// Another client can take the locks when they have been unlocked: no node is left in the way.
void check_free(const many_locks& locks) {
  client other{servers().connect_string(), quick(10s)};
  for (const std::size_t i : {std::size_t{0}, locks.size() / 2, locks.size() - 1}) {
    mutex lock{other, locks.path(i)};
    CHECK(lock.try_lock_for(patience()));
    lock.unlock();
  }
}

}  // namespace

TEST_SUITE("many locks") {
  TEST_CASE("2200 held locks with paths of 470 characters outlive the restart of a server, or are lost and free") {
    constexpr auto timeout = 10s;
    client owner{servers().connect_string(), quick(timeout)};
    many_locks locks{owner, 2'200, 470};
    const auto session = owner.session_id();
    REQUIRE(locks.proved_or_over(timeout * 5 / 4));  // more than once: watches come with proofs, or before
    MESSAGE(locks.held() << " held, " << watches_of(session) << " watches");
    restart_server_of(session);
    CHECK(locks.proved_or_over(timeout));
    MESSAGE(locks.held() << " held after the restart");
    CHECK(eventually([&] { return owner.connected(); }));
    if (owner.session_id() == session) CHECK((locks.held() == locks.size() || locks.held() == 0));  // one lease
    locks.unlock();
    CHECK(eventually([&] { return nodes_of(session) == 0; }));
    check_free(locks);
  }

  TEST_CASE(
      "views that come and go do not make the list of watches too long: a lock outlives the restart of a server") {
    client owner{servers().connect_string(), quick(10s)};
    const auto path = fresh_path();
    mutex lock{owner, path};
    const auto held = lock.acquire();
    const std::string name(200, 'x');
    for (int batch = 0; batch < 130; ++batch) {  // 8320 views, 1.9 MB of paths
      std::vector<std::unique_ptr<queue_view>> views;
      for (int i = 0; i < 64; ++i) {
        const auto number = std::to_string(batch) + "_" + std::to_string(i);
        views.push_back(std::make_unique<queue_view>(owner, path + "-views/" + name + number, [](const auto&) {}));
      }
      for (const auto& each : views) REQUIRE(eventually([&] { return each->now().known; }));
    }
    const auto session = owner.session_id();
    restart_server_of(session);
    // Something is answered on the new connection.
    CHECK(queue_snapshot{owner, path, patience()}.holder_count() == 1);
    CHECK(owner.session_id() == session);
    CHECK(held);
  }

  TEST_CASE("950 locks with paths of 1150 characters stay held") {
    constexpr auto timeout = 10s;
    client owner{servers().connect_string(), quick(timeout)};
    many_locks locks{owner, 950, 1'150};
    const auto session = owner.session_id();
    CHECK(locks.proved_or_over(timeout * 5 / 4));
    CHECK(locks.held() == locks.size());
    CHECK(owner.session_id() == session);
    locks.unlock();
    CHECK(eventually([&] { return nodes_of(session) == 0; }));
    check_free(locks);
  }
}

}  // namespace latchkey::testing
