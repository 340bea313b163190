// SPDX-License-Identifier: Apache-2.0
/// Writes along with the check of a grant's node.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/holding_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::step;
using step_kind = step::operation;
using result = commit_result::outcome;

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
      CHECK(refused({set(), {.what = step_kind::check, .path = "/none"}}) == "refused: step 1, ZNONODE");
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

  TEST_CASE("while the release is under way the grant is not held, and whoever unlocks passes nothing on") {
    for (const auto family : families) {
      CAPTURE(to_string(family));
      holding w{family};
      const auto next = w.lock.enter(2, w.mode);
      w.time.run_for(1s);
      const auto begun = w.begin({.steps = {set()}, .releases = true});
      CHECK_FALSE(w.held);
      CHECK(w.held.valid_until() == boottime_clock::time_point{});
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
