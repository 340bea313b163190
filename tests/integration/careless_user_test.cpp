// SPDX-License-Identifier: Apache-2.0
/// A thread that repeats a call as fast as it can, without waiting for its outcome: what its client holds is kept.

#include <latchkey/fair_mutex.hpp>
#include <latchkey/leader_view.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/sequencer.hpp>
#include <latchkey/shared_mutex.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "support/reached.hpp"

namespace latchkey::testing {
namespace {

using clock = std::chrono::steady_clock;

/// A client with a lock that is held, and a lock that somebody else holds.
struct careless_client {
  const std::chrono::seconds longest = slowed_down() ? 10s : 5s;  // a lease lasts for half of a session, about
  client owner{servers().connect_string(), quick(longest * 6 / 5)};
  client other{servers().connect_string(), quick(long_session)};
  std::string held_path = fresh_path();
  std::string taken_path = fresh_path();
  mutex held{owner, held_path};
  mutex taken{other, taken_path};
  guard kept = held.acquire();
  guard theirs = taken.acquire();

  /// Repeats each of `what`, which may find that there was no time, for longer than a lease lasts.
  template <class... What>
  void repeat(const What&... what) {
    repeat_all({what...});
  }

 private:
  void repeat_all(const std::vector<std::function<void()>>& all) {
    const auto end = clock::now() + longest;
    std::uint64_t most = 0;
    while (clock::now() < end && kept) {
      for (std::size_t i = 0; i < 100; ++i) {
        try {
          all[i % all.size()]();
        } catch (const error& failed) {
          REQUIRE(failed.code() == errc::unreachable);
        }
      }
      most = std::max<std::uint64_t>(most, owner.metrics().unanswered);
    }
    CHECK(kept);
    CHECK(most < 2000);
    kept.release();
    theirs.release();
    CHECK(eventually([&] { return owner.metrics().unanswered == 0 && owner.metrics().deletions_owed == 0; }));
    CHECK(queued(held_path, 0));
    CHECK(queued(taken_path, 0));
  }
};

}  // namespace

TEST_SUITE("careless user") {
  TEST_CASE("views of an election that are made and destroyed, of a path that is there and of others") {
    careless_client w;
    w.repeat([&] {
      leader_view{w.owner, w.taken_path};
      leader_view{w.owner, fresh_path()};
    });
  }

  TEST_CASE("snapshots, questions about a sequencer and requests to release that are given no time") {
    careless_client w;
    const auto sent = sequencer_of(w.theirs.grant());
    w.repeat(
        [&] {
          queue_snapshot{w.owner, w.taken_path, 10us};
        },
        [&] { static_cast<void>(check_sequencer(w.owner, sent, 10us)); },
        [&] { ask_to_release(w.owner, w.taken_path, 10us); });
  }

  TEST_CASE("calls that are given no time, of each kind of lock, and tickets that are dropped") {
    careless_client w;
    const auto path = fresh_path();
    mutex taken{w.owner, w.taken_path};
    fair_mutex line{w.owner, w.taken_path};
    shared_mutex readers{w.owner, fresh_path()};
    semaphore permits{w.owner, fresh_path(), 3};
    w.repeat([&] { static_cast<void>(taken.try_acquire_for(10us)); },
             [&] {
               mutex other{w.owner, path};
               static_cast<void>(other.try_lock_for(10us));
             },
             [&] { static_cast<void>(readers.try_acquire_shared_for(10us)); },
             [&] { static_cast<void>(permits.try_acquire_for(10us)); },
             [&] { static_cast<void>(line.try_enqueue_for(10us)); });
  }
}
}  // namespace latchkey::testing
