// SPDX-License-Identifier: Apache-2.0
/// Writes along with the check of a grant's node: whatever becomes of the answer, lock and data agree.

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "queue/fenced_commit.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::fenced_commit;
using detail::reply_code;
using detail::step;
using result = commit_result::outcome;
using of = step::operation;

constexpr auto mode_of(lock_family family) {
  return family == lock_family::shared ? contender_kind::write : contender_kind::lock;
}

/// A client that holds a lock, and data beside it.
struct holding : calm_world {
  const contender_kind mode;
  simulated_lock lock;
  simulated_lock other;
  grant held;

  explicit holding(lock_family family = lock_family::turns, std::uint64_t seed = 1)
      : calm_world{seed}, mode{mode_of(family)}, lock{one, "/q", {family}}, other{two, "/q", {family}} {
    ensemble.create("/data", "old");
    take();
    time.run_for(1s);
    one.connector().forget_sent();
  }

  void take() {
    REQUIRE(ends(lock.enter(1, mode), outcome::granted));
    held = lock.current(1, mode);
  }

  std::shared_ptr<fenced_commit> begin(detail::fenced_steps what, duration timeout = 1min) {
    return one.run([&] {
      const auto begun = std::make_shared<fenced_commit>(detail::grant_state::of(held), std::move(what));
      begun->start(time.now() + timeout);
      return begun;
    });
  }
  /// @returns how it ended; nothing if it did not, or failed.
  std::optional<commit_result> end(const std::shared_ptr<fenced_commit>& begun) {
    eventually([&] { return begun->result() || begun->failed(); });
    return begun->result();
  }
  std::optional<commit_result> commit(std::vector<step> steps, bool releases = false) {
    return end(begin({.steps = std::move(steps), .releases = releases}));
  }
  bool written() const { return ensemble.data("/data") == "new"; }
  std::size_t queued_now() const { return ensemble.children("/q").size(); }
  bool nothing_is_left() {
    return eventually([&] { return ensemble.children("/q").empty() && one.unfinished().empty(); });
  }
};

step set(std::int32_t version = -1, std::string path = "/data") {
  return {.what = of::set, .path = std::move(path), .data = "new", .version = version};
}
step create(std::string path) { return {.what = of::create, .path = std::move(path)}; }

/// A transaction that writes "/data", in the ways that differ in what tells of them.
enum class evidence { none, version, node, marker };
detail::fenced_steps steps_with(evidence what) {
  switch (what) {
    case evidence::version:
      return {.steps = {set(0)}};
    case evidence::node:
      return {.steps = {create("/made"), set()}};
    case evidence::marker:
      return {.steps = {create("/marker"), set()}, .marked = true};
    case evidence::none:
      break;
  }
  return {.steps = {set()}};
}

constexpr auto families = {lock_family::turns, lock_family::fair, lock_family::shared};

}  // namespace

TEST_SUITE("transaction") {
  TEST_CASE("it is one request, in one transaction, and the lock is held as before") {
    for (const auto family : families) {
      holding w{family};
      REQUIRE(w.commit({set(0), create("/made")})->what == result::committed);
      CHECK(w.written());
      CHECK(w.ensemble.exists("/made"));
      CHECK(w.ensemble.log().back().zxid == w.ensemble.log()[w.ensemble.log().size() - 2].zxid);
      CHECK(w.one.connector().sent() == 1);
      CHECK(w.held);
      w.lock.leave(1, w.mode);
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("with the release it is one request, and unlocking sends nothing") {
    for (const auto family : families) {
      CAPTURE(to_string(family));
      holding w{family};
      const auto next = w.other.enter(2, w.mode);
      REQUIRE(w.queued(2));
      w.one.connector().forget_sent();
      REQUIRE(w.commit({set()}, true)->what == result::committed);
      CHECK(w.written());
      CHECK_FALSE(w.held);
      CHECK_FALSE(w.held.loss());
      CHECK(w.ends(next, outcome::granted));
      w.lock.leave(1, w.mode);
      w.time.run_for(1s);
      CHECK(w.one.connector().sent() == 1);
      CHECK(w.one.unfinished().empty());
      CHECK(w.queued_now() == 1);
    }
  }

  TEST_CASE("who waits in the same object has the lock after the unlock, with a place of his own") {
    for (const auto family : families) {
      CAPTURE(to_string(family));
      holding w{family};
      const auto next = w.lock.enter(2, w.mode);
      w.time.run_for(1s);
      const auto before = w.held.fence();
      REQUIRE(w.commit({set()}, true)->what == result::committed);
      w.time.run_for(1s);
      const bool may_be_let_in = family == lock_family::fair;  // its place was there already
      CHECK((next->what == outcome::waiting || may_be_let_in));
      w.lock.leave(1, w.mode);
      REQUIRE(w.ends(next, outcome::granted));
      CHECK(w.lock.current(2, w.mode).fence() > before);
      w.lock.leave(2, w.mode);
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("a step that does not apply refuses all of them, by number and name, and leaves the lock alone") {
    for (const bool releases : {false, true}) {
      CAPTURE(releases);
      holding w;
      w.ensemble.create("/kept");
      w.ensemble.forbid(operation::set, "/kept");
      const auto refused = [&](std::vector<step> steps) { return to_string(*w.commit(std::move(steps), releases)); };
      CHECK(refused({set(), set(7)}) == "refused: step 1, ZBADVERSION");
      CHECK(refused({create("/no/parent"), set()}) == "refused: step 0, ZNONODE");
      CHECK(refused({set(), set(-1, "/kept")}) == "refused: step 1, ZNOAUTH");
      CHECK(refused({set(), create("/kept")}) == "refused: step 1, ZNODEEXISTS");
      CHECK(refused({set(), {.what = of::check, .path = "/none"}}) == "refused: step 1, ZNONODE");
      CHECK(to_string(*w.end(w.begin({{create("/no/marker"), set()}, true, releases}))) == "refused: marker, ZNONODE");
      CHECK_FALSE(w.written());
      w.time.run_for(20s);
      CHECK(w.held);  // its proofs go on
      w.held.stop_token();
      w.ensemble.remove(w.node(w.held));
      CHECK(w.eventually([&] { return w.held.loss() == loss_reason::node_deleted; }));  // and its watch
      w.lock.leave(1, w.mode);
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("after the grant nothing is sent") {
    holding w;
    SUBCASE("unlocked") { w.lock.leave(1, w.mode); }
    SUBCASE("lost") {
      w.ensemble.remove(w.node(w.held));
      REQUIRE(w.eventually([&] { return !w.held; }));
    }
    SUBCASE("unlocked, and the next turn has the node") {
      const auto next = w.lock.enter(2, w.mode);
      w.lock.leave(1, w.mode);
      REQUIRE(w.ends(next, outcome::granted));
    }
    w.time.run_for(1s);
    w.one.connector().forget_sent();
    for (const bool releases : {false, true}) CHECK(w.commit({set()}, releases)->what == result::lock_lost);
    CHECK(w.one.connector().sent(operation::transact) == 0);
    CHECK_FALSE(w.written());
  }

  TEST_CASE("a marker is looked up after the grant, too, and the next turn keeps its node") {
    holding w;
    const auto next = w.lock.enter(2, w.mode);
    w.lock.leave(1, w.mode);
    REQUIRE(w.ends(next, outcome::granted));
    CHECK(w.end(w.begin(steps_with(evidence::marker)))->what == result::lock_lost);
    w.ensemble.create("/marker");
    CHECK(w.end(w.begin(steps_with(evidence::marker)))->what == result::committed);
    CHECK_FALSE(w.written());
    w.time.run_for(1s);
    CHECK(w.lock.current(2, w.mode));
    CHECK(w.queued_now() == 1);
  }

  TEST_CASE("with a marker it is applied once, whoever repeats it") {
    holding w;
    CHECK(w.end(w.begin(steps_with(evidence::marker)))->what == result::committed);
    w.ensemble.change("/data", "newer");
    CHECK(w.end(w.begin(steps_with(evidence::marker)))->what == result::committed);
    w.lock.leave(1, w.mode);
    w.take();
    CHECK(w.end(w.begin(steps_with(evidence::marker)))->what == result::committed);
    CHECK(w.ensemble.data("/data") == "newer");
  }

  TEST_CASE("a node that an operator deletes in flight lets nothing through, and its loss is told with the answer") {
    for (const bool releases : {false, true}) {
      for (const auto with : {evidence::none, evidence::marker}) {
        holding w;
        auto what = steps_with(with);
        what.releases = releases;
        const auto begun = w.begin(std::move(what));
        w.ensemble.remove(w.node(w.held));
        CHECK(w.end(begun)->what == result::lock_lost);
        CHECK(w.held.loss() == loss_reason::node_deleted);
        CHECK_FALSE(w.written());
        w.lock.leave(1, w.mode);
        CHECK(w.nothing_is_left());
      }
    }
  }

  TEST_CASE("whatever becomes of the answer, lock and data agree") {
    std::array<std::array<int, 4>, 4> seen{};  // by evidence and outcome
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect, trap::lost_then_late, trap::stuck}) {
        for (const auto with : {evidence::none, evidence::version, evidence::node, evidence::marker}) {
          for (const bool releases : {false, true}) {
            for (const bool expires : {false, true}) {
              CAPTURE(seed);
              CAPTURE(static_cast<int>(fate));
              CAPTURE(static_cast<int>(with));
              CAPTURE(releases);
              CAPTURE(expires);
              holding w{static_cast<lock_family>(seed % 3), seed};
              auto what = steps_with(with);
              what.releases = releases;
              const auto session = w.session(w.one);
              w.one.connector().set_trap(operation::transact, fate);
              const auto begun = w.begin(std::move(what));
              if (expires) {
                w.eventually([&] { return !w.one.connected() || begun->result(); });
                w.ensemble.expire(session);
              }
              const auto ended = w.end(begun);
              REQUIRE(ended);
              w.time.run_for(10s);  // what is late has come
              CHECK(ended->what != result::refused);
              if (ended->what != result::in_doubt) CHECK(w.written() == (ended->what == result::committed));
              if (with == evidence::marker) CHECK(ended->what != result::in_doubt);
              if (ended->what == result::committed && releases) CHECK_FALSE(w.held);
              ++seen[static_cast<std::size_t>(with)][static_cast<std::size_t>(ended->what)];
              w.lock.leave(1, w.mode);
              CHECK(w.nothing_is_left());
            }
          }
        }
      }
    }
    const auto times = [&](evidence with, result how) {
      return seen[static_cast<std::size_t>(with)][static_cast<std::size_t>(how)];
    };
    for (const auto with : {evidence::none, evidence::version, evidence::node, evidence::marker})
      CHECK(times(with, result::committed) > 0);
    CHECK(times(evidence::none, result::in_doubt) > 0);
    CHECK(times(evidence::marker, result::lock_lost) > 0);
  }

  TEST_CASE("a release whose answer is lost is decided by its node, and the place is kept or gone accordingly") {
    for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect}) {
      holding w;
      w.one.connector().set_trap(operation::transact, fate);
      CHECK(w.end(w.begin({.steps = {create("/marker"), set()}, .marked = true, .releases = true}))->what ==
            result::committed);
      CHECK_FALSE(w.held);
      CHECK_FALSE(w.held.loss());
      CHECK(w.one.connector().sent(operation::transact) == (fate == trap::lost_before_effect ? 2 : 1));
      CHECK(w.queued_now() == 0);
    }
  }

  TEST_CASE("without a server it fails in time, and has written nothing") {
    holding w;
    w.one.connector().cut();
    REQUIRE(w.eventually([&] { return !w.one.connected(); }));
    const auto begun = w.begin({.steps = {set()}}, 100ms);
    w.time.run_for(100ms);
    REQUIRE(begun->failed());
    CHECK(begun->failed()->code == errc::unreachable);
    w.one.connector().heal();
    w.time.run_for(10s);
    CHECK_FALSE(w.written());
  }

  TEST_CASE("an answer that does not come in time leaves it in doubt; what it did to the lock is learnt later") {
    for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect}) {
      CAPTURE(static_cast<int>(fate));
      holding w;
      w.ensemble.plan().reconnecting = {500ms, 600ms};
      w.one.connector().set_trap(operation::transact, fate);
      const auto begun = w.begin({.steps = {set()}, .releases = true}, 100ms);
      w.time.run_for(100ms);
      REQUIRE(begun->result());
      CHECK(begun->result()->what == result::in_doubt);
      w.time.run_for(5s);
      CHECK(static_cast<bool>(w.held) == (fate == trap::lost_before_effect));
      CHECK(w.written() == (fate == trap::lost_after_effect));
      CHECK(w.one.connector().sent(operation::transact) == 1);  // not again: nobody waits for it
      w.lock.leave(1, w.mode);
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("while the release is under way the grant is not held, and whoever unlocks passes nothing on") {
    for (const auto family : families) {
      CAPTURE(to_string(family));
      holding w{family};
      const auto next = w.lock.enter(2, w.mode);
      w.time.run_for(1s);
      const auto begun = w.begin({.steps = {set()}, .releases = true});
      CHECK_FALSE(w.held);
      CHECK(w.held.valid_until() == boottime_clock::time_point::min());
      CHECK_FALSE(w.held.loss());
      const auto node = w.node(w.held);
      w.lock.leave(1, w.mode);
      REQUIRE(w.ends(next, outcome::granted));
      CHECK(w.node(w.lock.current(2, w.mode)) != node);
      CHECK(w.end(begun)->what == result::committed);
      w.time.run_for(10s);
      CHECK(w.lock.current(2, w.mode));
      w.lock.leave(2, w.mode);
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("what it has written is no proof: others may write the same, and it may undo it itself") {
    for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect}) {
      for (const bool itself : {false, true}) {
        CAPTURE(itself);
        holding w;
        w.one.connector().set_trap(operation::transact, fate);
        const auto begun = itself ? w.begin({.steps = {create("/made"), set(), {.what = of::remove, .path = "/made"}}})
                                  : w.begin({.steps = {set(0)}});
        if (!itself) w.ensemble.change("/data", "new");
        const auto ended = w.end(begun);
        REQUIRE(ended);
        CHECK(ended->what != result::committed);
        CHECK(w.one.connector().sent(operation::transact) == 1);
      }
    }
  }

  TEST_CASE("of two that release at once, one does") {
    for (const bool is_refused : {false, true}) {
      CAPTURE(is_refused);
      holding w;
      const auto first = w.begin({.steps = {set(is_refused ? 7 : 0)}, .releases = true});
      const auto second = w.begin({.steps = {set()}, .releases = true});
      CHECK(w.end(first)->what == (is_refused ? result::refused : result::committed));
      CHECK(w.end(second)->what == (is_refused ? result::committed : result::lock_lost));
      CHECK(static_cast<bool>(w.held) == is_refused);  // then its place is there still
      w.lock.leave(1, w.mode);
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("what ends the connection each time is not sent for ever") {
    for (const bool releases : {false, true}) {
      holding w;
      for (int i = 0; i < 20; ++i) w.one.connector().set_trap(operation::transact, trap::lost_before_effect);
      const auto start = w.time.now();
      auto what = steps_with(evidence::marker);
      what.releases = releases;
      const auto begun = w.begin(std::move(what));
      w.eventually([&] { return begun->result() || begun->failed(); });
      REQUIRE(begun->failed());
      CHECK(begun->failed()->code == errc::refused);
      CHECK(w.one.connector().sent(operation::transact) == 10);
      CHECK(w.time.now() - start > 5s);
      CHECK(w.held);
      CHECK_FALSE(w.written());
      w.lock.leave(1, w.mode);
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("a reader's node stays, as others may share it") {
    holding w{lock_family::shared};
    w.lock.leave(1, w.mode);
    REQUIRE(w.nothing_is_left());
    REQUIRE(w.ends(w.lock.enter(1, contender_kind::read), outcome::granted));
    REQUIRE(w.ends(w.lock.enter(2, contender_kind::read), outcome::granted));
    w.held = w.lock.current(1, contender_kind::read);
    REQUIRE(w.commit({set()}, true)->what == result::committed);
    CHECK(w.written());
    w.time.run_for(1s);
    CHECK(w.lock.current(2, contender_kind::read));
    CHECK(w.queued_now() == 1);
  }

  TEST_CASE("closing the client ends it") {
    holding w;
    const auto begun = w.begin({.steps = {set()}, .releases = true});
    w.one.close();
    CHECK(w.eventually([&] { return begun->result() || begun->failed(); }));
    CHECK(w.eventually([&] { return w.one.closed(); }));
  }
}

}  // namespace latchkey::testing
