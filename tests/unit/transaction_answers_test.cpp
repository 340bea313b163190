// SPDX-License-Identifier: Apache-2.0
/// Transactions whose answer is late or lost: whatever becomes of it, lock and data agree.

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/holding_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using step_kind = detail::step::operation;
using result = commit_result::outcome;

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

}  // namespace

TEST_SUITE("transaction answers") {
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

  TEST_CASE("a release whose answer is lost is over, though every server but the leader has lost the deletion") {
    holding w;
    w.lose_removal(w.node(w.held));
    w.one.connector().set_trap(operation::transact, trap::lost_after_effect);
    const auto begun = w.begin({.steps = {set()}, .releases = true});
    CHECK(w.end(begun)->what == result::in_doubt);
    CHECK(w.written());
    CHECK_FALSE(w.held);
    CHECK(w.held.loss() == std::nullopt);
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

  TEST_CASE("what it has written is no proof: others may write the same, and it may undo it itself") {
    for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect}) {
      for (const bool itself : {false, true}) {
        CAPTURE(itself);
        holding w;
        w.one.connector().set_trap(operation::transact, fate);
        std::vector<detail::step> steps{set(0)};
        if (itself) steps = {create("/made"), set(), {.what = step_kind::remove, .path = "/made"}};
        const auto begun = w.begin({.steps = std::move(steps)});
        if (!itself) w.ensemble.change("/data", "new");
        const auto ended = w.end(begun);
        REQUIRE(ended);
        CHECK(ended->what != result::committed);
        CHECK(w.one.connector().sent(operation::transact) == 1);
      }
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
      CHECK(begun->failed()->code == errc::too_large);
      CHECK(w.one.connector().sent(operation::transact) == 1 + detail::repetition::most_attempts);
      CHECK(w.time.now() - start > 2s);
      CHECK(w.held);
      CHECK_FALSE(w.written());
      w.lock.leave(1, w.mode);
      CHECK(w.nothing_is_left());
    }
  }
}

}  // namespace latchkey::testing
