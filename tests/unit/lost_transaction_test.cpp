// SPDX-License-Identifier: Apache-2.0
/// Servers that have lost the end of a node, and show it for ever.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "log_lines.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

struct lost_world : calm_world {
  const contender_kind mode;  // of who waits
  const contender_kind exclusive;
  simulated_lock lock;
  simulated_lock other;

  lost_world(lock_family family, contender_kind how)
      : mode{how},
        exclusive{family == lock_family::shared ? contender_kind::write : contender_kind::lock},
        lock{one, "/q", {family}},
        other{two, "/q", {family}} {}

  /// The other has the lock, the first waits, the other unlocks, and no server but the leader hears of it.
  simulated_lock::call wait_behind_a_ghost() {
    REQUIRE(ends(other.enter(1, exclusive), outcome::granted));
    const auto holder = node(other.current(1, exclusive));
    auto waiting = lock.enter(1, mode);
    REQUIRE(queued(2));
    lose_removal(holder);
    other.leave(1, exclusive);
    REQUIRE(queued(1));
    return waiting;
  }
};

}  // namespace

TEST_SUITE("lost transaction") {
  TEST_CASE("who has waited long behind a node that has gone is let in, and the log says which server shows it") {
    for (const auto& [family, mode] :
         {std::pair{lock_family::turns, contender_kind::lock}, std::pair{lock_family::fair, contender_kind::lock},
          std::pair{lock_family::shared, contender_kind::write},
          std::pair{lock_family::shared, contender_kind::read}}) {
      CAPTURE(static_cast<int>(family));
      CAPTURE(static_cast<int>(mode));
      const log_lines lines;
      lost_world w{family, mode};
      const auto waiting = w.wait_behind_a_ghost();
      w.time.run_for(25s);
      CHECK(waiting->what == outcome::waiting);
      REQUIRE(w.ends(waiting, outcome::granted));
      CHECK(lines.with("it has lost a transaction").size() == 1);
      w.lock.leave(1, mode);
      CHECK(w.queued(0));
      CHECK(w.ends(w.lock.enter(1, mode, detail::at_once), outcome::granted));
    }
  }

  TEST_CASE("who has waited long though its entry is the first is let in: the event was lost") {
    for (const auto& [family, mode] :
         {std::pair{lock_family::turns, contender_kind::lock}, std::pair{lock_family::fair, contender_kind::lock},
          std::pair{lock_family::shared, contender_kind::read}}) {
      CAPTURE(static_cast<int>(family));
      const log_lines lines;
      lost_world w{family, mode};
      REQUIRE(w.ends(w.other.enter(1, w.exclusive), outcome::granted));
      const auto waiting = w.lock.enter(1, mode);
      REQUIRE(w.queued(2));
      w.lose_event(w.node(w.other.current(1, w.exclusive)));
      w.other.leave(1, w.exclusive);
      REQUIRE(w.queued(1));
      w.time.run_for(25s);
      CHECK(waiting->what == outcome::waiting);
      REQUIRE(w.ends(waiting, outcome::granted));
      CHECK(lines.with("waiting long").empty());
    }
  }

  TEST_CASE("who has waited long is let in also if nobody may read its entry, nor the one that was ahead") {
    for (const auto& [family, mode] :
         {std::pair{lock_family::turns, contender_kind::lock}, std::pair{lock_family::fair, contender_kind::lock},
          std::pair{lock_family::shared, contender_kind::read}}) {
      CAPTURE(static_cast<int>(family));
      const log_lines lines{log_level::info};
      lost_world w{family, mode};
      REQUIRE(w.ends(w.other.enter(1, w.exclusive), outcome::granted));
      const auto ahead = w.node(w.other.current(1, w.exclusive));
      const auto waiting = w.lock.enter(1, mode);
      REQUIRE(w.queued(2));
      for (const auto& name : w.ensemble.children("/q")) w.ensemble.forbid(operation::get, "/q/" + name);
      w.lose_event(ahead);
      w.other.leave(1, w.exclusive);
      REQUIRE(w.queued(1));
      REQUIRE(w.ends(waiting, outcome::granted));
      const bool read_to_know = mode != contender_kind::read;  // a reader's list shows no writer
      CHECK(lines.with("lets nobody read").size() == (read_to_know ? 1 : 0));
    }
  }

  TEST_CASE("of many locks that are waited for long, at most 64 are looked into at a time") {
    calm_world w;
    std::vector<std::unique_ptr<simulated_lock>> locks;
    for (int i = 0; i < 100; ++i) {
      const auto path = fmt::format("/many/{}", i);
      locks.push_back(std::make_unique<simulated_lock>(w.two, path, lock_settings{lock_family::turns}));
      REQUIRE(w.ends(locks.back()->enter(1, contender_kind::lock), outcome::granted));
      locks.push_back(std::make_unique<simulated_lock>(w.one, path, lock_settings{lock_family::turns}));
      locks.back()->enter(1, contender_kind::lock);
    }
    const auto looks = [&] { return w.one.connector().sent(request_kind::check); };
    // The first call begins the rounds, a quarter of the time apart; the others have waited long at the one after it.
    REQUIRE(w.eventually([&] { return looks() > 1; }));
    w.time.run_for(1s);
    CHECK(looks() == 1 + 64);
    w.time.run_for(10s);
    CHECK(looks() == 100);
  }

  TEST_CASE("a node that the leader has is waited for, however long") {
    const log_lines lines;
    lost_world w{lock_family::turns, contender_kind::lock};
    REQUIRE(w.ends(w.other.enter(1, w.exclusive), outcome::granted));
    const auto waiting = w.lock.enter(1, w.mode);
    w.time.run_for(10min);
    CHECK(waiting->what == outcome::waiting);
    CHECK(lines.all().empty());
    w.other.leave(1, w.exclusive);
    CHECK(w.ends(waiting, outcome::granted));
  }
}

}  // namespace latchkey::testing
