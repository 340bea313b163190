// SPDX-License-Identifier: Apache-2.0
/// A client that may create nodes and not delete them.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <latchkey/metrics.hpp>

#include "log_lines.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// A lock whose holder has unlocked it in vain: its node is still there.
struct left_behind : calm_world {
  explicit left_behind(lock_family of = lock_family::turns) : family{of}, lock{one, "/q", {of}} {
    ensemble.create("/q");
    ensemble.forbid(operation::remove, "/q");
    REQUIRE(ends(lock.enter(1, mode()), outcome::granted));
  }
  contender_kind mode() const { return family == lock_family::shared ? contender_kind::write : contender_kind::lock; }
  void leave_it() {
    lock.leave(1, mode());
    time.run_for(1s);
    REQUIRE(ensemble.children("/q").size() == 1);
  }
  bool is_refused(const simulated_lock::call& call) {
    return ends(call, outcome::failed) && call->why->code == errc::not_authorized;
  }

  lock_family family;
  simulated_lock lock;
};

}  // namespace

TEST_SUITE("refused deletion") {
  TEST_CASE("the next lock is refused instead of waiting behind what could not be deleted") {
    for (const auto family : families) {
      CAPTURE(to_string(family));
      left_behind w{family};
      w.leave_it();
      CHECK(w.is_refused(w.lock.enter(1, w.mode())));
      w.time.run_for(1s);
      CHECK(w.ensemble.children("/q").size() == 1);
    }
  }

  TEST_CASE("what could not be deleted is owed, and told of in a few lines, however much it is") {
    const log_lines lines{log_level::error};
    left_behind w;
    w.leave_it();
    const auto owed = [&] { return w.one.run([&] { return w.one.core()->metrics().deletions_owed; }); };
    CHECK(owed() == 1);
    for (int i = 0; i < 300; ++i) {
      const auto path = fmt::format("/more/{}", i);
      w.ensemble.forbid(operation::remove, path);
      simulated_lock each{w.one, path, {lock_family::turns}};
      REQUIRE(w.ends(each.enter(1, contender_kind::lock), outcome::granted));
      each.leave(1, contender_kind::lock);
    }
    w.time.run_for(1s);
    CHECK(owed() == 301);
    CHECK(lines.with("refused to delete a node").size() == 5);
  }

  TEST_CASE("so is one that comes back at once") {
    for (const auto family : families) {
      CAPTURE(to_string(family));
      left_behind w{family};
      w.lock.leave(1, w.mode());
      CHECK(w.is_refused(w.lock.enter(1, w.mode())));
    }
  }

  TEST_CASE("so is a try") {
    for (const auto family : families) {
      CAPTURE(to_string(family));
      left_behind w{family};
      w.leave_it();
      CHECK(w.is_refused(w.lock.enter(1, w.mode(), detail::at_once)));
    }
  }

  TEST_CASE("a try on what somebody else has is refused as ever") {
    left_behind w;
    w.leave_it();
    w.intrude("-lock-", 77);
    w.time.run_for(1s);
    CHECK(w.ends(w.lock.enter(1, w.mode(), detail::at_once), outcome::refused));
  }

  TEST_CASE("so is who waits already when the deletion is refused, directly behind it or not") {
    for (const bool directly : {true, false}) {
      CAPTURE(directly);
      left_behind w;
      simulated_lock theirs{w.two, "/q", {lock_family::turns}};
      simulated_lock other{w.one, "/q", {lock_family::turns}};
      if (!directly) theirs.enter(1, contender_kind::lock);
      REQUIRE(w.queued(directly ? 1 : 2));
      const auto waits = other.enter(2, contender_kind::lock);
      REQUIRE(w.queued(directly ? 2 : 3));
      w.lock.leave(1, contender_kind::lock);
      CHECK(w.is_refused(waits));
    }
  }

  TEST_CASE("once the deletion is allowed, a lock that fails has it done, and the next one is granted") {
    left_behind w;
    w.leave_it();
    w.ensemble.allow_everything();
    CHECK(w.is_refused(w.lock.enter(1, w.mode())));
    CHECK(w.eventually([&] { return w.ensemble.children("/q").empty(); }));
    CHECK(w.ends(w.lock.enter(1, w.mode()), outcome::granted));
  }

  TEST_CASE("a new session has left nothing behind") {
    left_behind w;
    w.leave_it();
    w.ensemble.expire(w.session(w.one));
    REQUIRE(w.eventually([&] { return w.ensemble.children("/q").empty(); }));
    CHECK(w.ends(w.lock.enter(1, w.mode()), outcome::granted));
  }
}

}  // namespace latchkey::testing
