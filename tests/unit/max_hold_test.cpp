// SPDX-License-Identifier: Apache-2.0
/// The option `max_hold`: who holds a lock for too long loses it.

#include <array>

#include <doctest/doctest.h>

#include "queue/fenced_commit.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using enum contender_kind;

struct kind {
  lock_family family;
  contender_kind mode;
};
constexpr std::array kinds{kind{lock_family::turns, lock}, kind{lock_family::fair, lock},
                           kind{lock_family::shared, write}, kind{lock_family::shared, read}};

/// One may hold for 5 s.
struct limited_world : calm_world {
  lock_settings settings;
  simulated_lock mine{one, "/q", settings};
  simulated_lock theirs{two, "/q", {.family = settings.family}};

  explicit limited_world(lock_family family, duration linger = {})
      : settings{.family = family, .linger = linger, .max_hold = 5s} {}

  grant hold(std::uint64_t fiber, contender_kind mode) {
    REQUIRE(ends(mine.enter(fiber, mode), outcome::granted));
    return mine.current(fiber, mode);
  }
  std::uint64_t held_too_long() {
    const auto counts = one.run([this] { return one.core()->metrics(); });
    return counts.locks.at(0).lost.at(static_cast<std::size_t>(loss_reason::held_too_long));
  }
};

}  // namespace

TEST_SUITE("max hold") {
  TEST_CASE("who holds for too long loses the lock before its node goes, and the next in line is let in") {
    for (const auto& [family, mode] : kinds) {
      CAPTURE(static_cast<int>(mode));
      limited_world w{family, 1h};
      const auto held = w.hold(1, mode);
      const auto since = w.time.now();
      const auto next = w.theirs.enter(1, family == lock_family::shared ? write : lock);
      REQUIRE(w.queued(2));
      w.time.run_until(since + 5s - 1ms);
      CHECK(held);
      const auto node = w.node(held);
      REQUIRE(w.eventually([&] { return !held; }));
      CHECK(w.time.now() <= since + 5s);
      CHECK(held.loss() == loss_reason::held_too_long);
      CHECK(w.ensemble.exists(node));
      CHECK(next->what == outcome::waiting);
      CHECK(w.ends(next, outcome::granted));
      CHECK(w.held_too_long() == 1);
      w.theirs.leave(1, family == lock_family::shared ? write : lock);
      w.mine.leave(1, mode);
      CHECK(w.queued(0));
      CHECK(w.hold(1, mode).fence() > held.fence());
    }
  }

  TEST_CASE("callers of the same object are let in when it has been unlocked, by turns, in line and to write") {
    for (const auto& [family, mode] : kinds) {
      CAPTURE(static_cast<int>(mode));
      limited_world w{family};
      const auto held = w.hold(1, mode);
      const auto next = w.mine.enter(2, mode == read ? write : mode);
      REQUIRE(w.eventually([&] { return !held; }));
      w.time.run_for(1min);
      CHECK(next->what == outcome::waiting);
      w.mine.leave(1, mode);
      CHECK(w.ends(next, outcome::granted));
      CHECK(w.mine.current(2, mode == read ? write : mode));
    }
  }

  TEST_CASE("the time counts from the grant of each turn") {
    for (const auto& [family, mode] : kinds) {
      CAPTURE(static_cast<int>(mode));
      limited_world w{family, 1h};
      for (int turn = 0; turn < 4; ++turn) {
        const auto held = w.hold(1, mode);
        w.time.run_for(turn == 2 ? 1s : 4s);
        CHECK(held);
        w.mine.leave(1, mode);
        w.time.run_for(turn == 2 ? 6s : 500ms);
      }
      const auto held = w.hold(1, mode);
      const auto since = w.time.now();
      REQUIRE(w.eventually([&] { return !held; }));
      CHECK(held.loss() == loss_reason::held_too_long);
      CHECK(w.time.now() == since + 5s);
      CHECK(w.held_too_long() == 1);
    }
  }

  TEST_CASE("the time of a lock that was lost otherwise is not that of the next grant") {
    for (const auto& [family, mode] : kinds) {
      CAPTURE(static_cast<int>(mode));
      limited_world w{family};
      const auto before = w.hold(1, mode);
      w.time.run_for(3s);
      w.ensemble.expire(w.session(w.one));
      REQUIRE(w.eventually([&] { return before.loss() == loss_reason::session_expired; }));
      w.mine.leave(1, mode);
      const auto held = w.hold(1, mode);
      w.time.run_for(4s);
      CHECK(held);
      w.time.run_for(1s);
      CHECK(held.loss() == loss_reason::held_too_long);
    }
  }

  TEST_CASE("a reader that holds for too long leaves the place to the other readers") {
    limited_world w{lock_family::shared, 1h};
    const auto first = w.hold(1, read);
    w.time.run_for(3s);
    const auto second = w.hold(2, read);
    CHECK(w.ensemble.children("/q").size() == 1);
    w.time.run_for(2s);
    CHECK_FALSE(first);
    CHECK(second);
    const auto third = w.hold(3, read);  // nobody outside waits
    CHECK(w.ensemble.children("/q").size() == 1);
    const auto writer = w.theirs.enter(1, write);
    REQUIRE(w.queued(2));
    w.mine.leave(3, read);
    REQUIRE(w.eventually([&] { return !second; }));
    CHECK(second.loss() == loss_reason::held_too_long);
    CHECK_FALSE(third.loss());
    CHECK(w.ends(writer, outcome::granted));
    const auto own = w.mine.enter(4, write);
    w.theirs.leave(1, write);
    w.mine.leave(1, read);
    w.time.run_for(1s);
    CHECK(own->what == outcome::waiting);  // one reader has not unlocked
    w.mine.leave(2, read);
    CHECK(w.ends(own, outcome::granted));
    w.mine.leave(4, write);
    w.mine.shut();
    CHECK(w.queued(0));
    CHECK(w.one.unfinished().empty());
  }

  TEST_CASE("readers that wait behind a writer are let in when those of the place before it have held for too long") {
    limited_world w{lock_family::shared};
    const auto first = w.hold(1, read);
    const auto writer = w.theirs.enter(1, write);
    REQUIRE(w.queued(2));
    w.time.run_for(100ms);                      // no more readers may join
    const auto second = w.mine.enter(2, read);  // takes a place of its own
    REQUIRE(w.queued(3));
    CHECK(w.ends(writer, outcome::granted));
    CHECK(first.loss() == loss_reason::held_too_long);
    w.theirs.leave(1, write);
    CHECK(w.ends(second, outcome::granted));
    w.mine.leave(1, read);
    CHECK(w.mine.current(2, read));
  }

  TEST_CASE("a reader that waits for an answer about the place takes another one if that is given up meanwhile") {
    limited_world w{lock_family::shared};
    const auto first = w.hold(1, read);
    w.time.run_for(5s - 50us);
    const auto second = w.mine.enter(2, read);
    CHECK(second->what == outcome::waiting);
    w.time.run_for(50us);
    CHECK(first.loss() == loss_reason::held_too_long);
    CHECK(second->what == outcome::waiting);
    CHECK(w.ends(second, outcome::granted));
    CHECK(w.queued(1));
  }

  TEST_CASE("a writer that becomes a reader is given the time anew") {
    limited_world w{lock_family::shared};
    const auto writing = w.hold(1, write);
    w.time.run_for(3s);
    REQUIRE(w.ends(w.mine.downgrade(1), outcome::granted));
    const auto reading = w.mine.current(1, read);
    const auto since = w.time.now();
    REQUIRE(w.eventually([&] { return !reading; }));
    CHECK(reading.loss() == loss_reason::held_too_long);
    CHECK(w.time.now() == since + 5s);
    CHECK_FALSE(writing.loss());
    CHECK(w.queued(0));
  }

  TEST_CASE("a lock without the option is held for as long as it is not unlocked") {
    for (const auto& [family, mode] : kinds) {
      calm_world w;
      simulated_lock all{w.one, "/q", {.family = family}};
      REQUIRE(w.ends(all.enter(1, mode), outcome::granted));
      const auto held = all.current(1, mode);
      w.time.run_for(1h);
      CHECK(held);
    }
  }

  TEST_CASE("a lock object that is destroyed while it is held leaves nothing") {
    for (const auto& [family, mode] : kinds) {
      for (const auto time : {1s, 6s}) {
        limited_world w{family};
        const auto held = w.hold(1, mode);
        w.time.run_for(time);
        w.mine.shut();
        w.time.run_for(1min);
        CHECK(held.loss().has_value() == (time > 5s));
        CHECK(w.queued(0));
        CHECK(w.one.unfinished().empty());
      }
    }
  }

  TEST_CASE("looking for a marker after the end leaves the node to the other readers") {
    limited_world w{lock_family::shared};
    const auto first = w.hold(1, read);
    w.time.run_for(2s);
    const auto second = w.hold(2, read);
    REQUIRE(w.eventually([&] { return first.loss() == loss_reason::held_too_long; }));
    REQUIRE(second);
    const auto begun = w.one.run([&] {
      const auto made = std::make_shared<detail::fenced_commit>(
          detail::grant_state::of(first),
          detail::fenced_steps{{{.what = detail::step::operation::create, .path = "/marker"}}, true, false});
      made->start(detail::never);
      return made;
    });
    REQUIRE(w.eventually([&] { return begun->result().has_value(); }));
    CHECK(begun->result()->what == commit_result::outcome::lock_lost);
    w.time.run_for(1s);
    CHECK(second);
    CHECK(w.queued(1));
    w.mine.leave(1, read);
    w.mine.leave(2, read);
    CHECK(w.queued(0));
  }

  TEST_CASE("a release that is under way with a transaction counts as holding") {
    for (const auto family : {lock_family::turns, lock_family::fair, lock_family::shared}) {
      CAPTURE(to_string(family));
      const auto mode = family == lock_family::shared ? write : lock;
      limited_world w{family};
      w.ensemble.create("/data");
      const auto held = w.hold(1, mode);
      const auto next = w.theirs.enter(1, mode);
      REQUIRE(w.queued(2));
      w.one.connector().cut();
      const auto begun = w.one.run([&] {
        const auto made = std::make_shared<detail::fenced_commit>(
            detail::grant_state::of(held),
            detail::fenced_steps{{{.what = detail::step::operation::set, .path = "/data"}}, false, true});
        made->start(detail::never);
        return made;
      });
      REQUIRE(w.eventually([&] { return held.loss() == loss_reason::held_too_long; }));
      w.one.connector().heal();
      CHECK(w.ends(next, outcome::granted));
      CHECK(w.eventually([&] { return begun->result().has_value(); }));
      w.mine.leave(1, mode);
      w.theirs.leave(1, mode);
      CHECK(w.queued(0));
    }
  }
}
}  // namespace latchkey::testing
