// SPDX-License-Identifier: Apache-2.0
/// Places that are left for another one at the end of a line.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/habitual.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// He has been let in by a list that showed two others behind him: they wait, number after number.
template <lock_family Family>
struct among_others : habitual<Family> {
  simulated_lock third{this->two, "/q", {Family}};
  simulated_lock::call theirs = this->other.enter(1, mode);
  simulated_lock::call of_third;

  among_others() {
    REQUIRE(this->queued(2));
    of_third = third.enter(1, mode);
    REQUIRE(this->queued(3));
    this->leave();
    const auto again = this->lock->enter(1, mode);
    pass_on(this->other, theirs);
    pass_on(third, of_third);
    REQUIRE(this->ends(again, outcome::granted));
    REQUIRE(this->queued(3));
    this->one.connector().forget_sent();
  }

  /// To the next, and back to the end; both before the first client hears of either.
  void pass_on(simulated_lock& from, simulated_lock::call& call) {
    REQUIRE(this->ends(call, outcome::granted));
    REQUIRE(this->queued(3));
    this->one.connector().latest()->open_hole(50ms);
    from.leave(1, mode);
    call = from.enter(1, mode);
    REQUIRE(this->queued(3));
  }
};

using of_turns = habitual<lock_family::turns>;
using of_places = habitual<lock_family::fair>;
using turns_among_others = among_others<lock_family::turns>;
using places_among_others = among_others<lock_family::fair>;

}  // namespace

TEST_SUITE("requeue at the end of a line") {
  TEST_CASE_TEMPLATE("whoever has queued meanwhile is first, and his token lies between", World, of_turns, of_places) {
    World w;
    const auto before = w.fence();
    const auto theirs = w.other.enter(1, mode);
    REQUIRE(w.queued(2));
    w.leave();
    const auto again = w.lock->enter(1, mode);
    CHECK(w.sent(request_kind::requeue) == 1);
    REQUIRE(w.ends(theirs, outcome::granted));
    CHECK(w.queued(2));
    CHECK(again->what == outcome::waiting);
    const auto between = w.other.current(1, mode).fence();
    CHECK(between > before);
    w.other.leave(1, mode);
    REQUIRE(w.ends(again, outcome::granted));
    CHECK(w.fence() > between);
    CHECK(w.fence().czxid == w.made());
    w.leave();
    CHECK(w.nothing_is_left());
  }

  TEST_CASE_TEMPLATE(
      "who has had to wait lists with the transaction: one write and two reads, and his token lies between", World,
      of_turns, of_places) {
    World w;
    const auto theirs = w.other.enter(1, mode);
    REQUIRE(w.queued(2));
    w.leave();
    const auto again = w.lock->enter(1, mode);
    REQUIRE(w.ends(theirs, outcome::granted));
    REQUIRE(w.queued(2));
    w.other.leave(1, mode);
    REQUIRE(w.ends(again, outcome::granted));  // has waited
    const auto last = w.other.enter(1, mode);
    REQUIRE(w.queued(2));
    w.one.connector().forget_sent();
    w.leave();
    const auto once_more = w.lock->enter(1, mode);
    CHECK(w.sent(request_kind::requeue) == 1);
    CHECK(w.sent(operation::children) == 1);
    REQUIRE(w.ends(last, outcome::granted));
    REQUIRE(w.queued(2));
    CHECK(w.sent(operation::get) == 2);  // the one that it waits for; and its own, for which nobody waits
    CHECK(w.sent(operation::children) == 1);
    const auto between = w.other.current(1, mode).fence();
    w.other.leave(1, mode);
    REQUIRE(w.ends(once_more, outcome::granted));
    CHECK(w.fence() > between);
    const auto mine = w.fence();
    const auto next = w.other.enter(1, mode);
    REQUIRE(w.queued(2));
    w.leave();
    REQUIRE(w.ends(next, outcome::granted));
    CHECK(w.other.current(1, mode).fence() > mine);
  }

  TEST_CASE_TEMPLATE(
      "who has seen those behind him waits for the last of them: one write and one read, and a list in his turn", World,
      turns_among_others, places_among_others) {
    World w;
    const auto before = w.fence();
    w.leave();
    const auto again = w.lock->enter(1, mode);
    REQUIRE(w.queued(3));
    CHECK(w.sent(request_kind::requeue) == 1);
    CHECK(w.sent(operation::get) == 2);  // the one that it waits for; and its own, for which nobody waits
    CHECK(w.one.connector().sent() == 3);
    REQUIRE(w.theirs->what == outcome::granted);
    CHECK(w.other.current(1, mode).fence() > before);
    w.other.leave(1, mode);
    REQUIRE(w.ends(w.of_third, outcome::granted));
    const auto between = w.third.current(1, mode).fence();
    const auto behind = w.other.enter(1, mode);
    REQUIRE(w.queued(3));
    CHECK(again->what == outcome::waiting);
    w.third.leave(1, mode);
    REQUIRE(w.ends(again, outcome::granted));
    CHECK(w.sent(operation::children) == 1);
    CHECK(w.one.connector().sent() == 4);
    CHECK(w.fence() > between);
    CHECK(w.fence().czxid <= w.made());
    const auto mine = w.fence();
    w.leave();
    REQUIRE(w.ends(behind, outcome::granted));
    CHECK(w.other.current(1, mode).fence() > mine);
  }

  TEST_CASE_TEMPLATE("the last of those behind has given up meanwhile: a list tells for whom to wait", World,
                     turns_among_others, places_among_others) {
    World w;
    w.third.cancel(w.of_third, mode);
    REQUIRE(w.queued(2));
    const auto before = w.fence();
    w.leave();
    const auto again = w.lock->enter(1, mode);
    REQUIRE(w.ends(w.theirs, outcome::granted));
    REQUIRE(w.queued(2));
    CHECK(w.sent(operation::children) == 1);
    CHECK(again->what == outcome::waiting);
    w.other.leave(1, mode);
    REQUIRE(w.ends(again, outcome::granted));
    CHECK(w.fence() > before);
    CHECK(w.fence().czxid == w.made());
  }

  TEST_CASE_TEMPLATE("somebody has come since the list: another one tells for whom to wait", World, turns_among_others,
                     places_among_others) {
    World w;
    simulated_lock fourth{w.two, "/q", {lock_family::fair}};
    const auto late = fourth.enter(1, mode);
    REQUIRE(w.queued(4));
    w.leave();
    const auto again = w.lock->enter(1, mode);
    REQUIRE(w.ends(w.theirs, outcome::granted));
    REQUIRE(w.queued(4));
    CHECK(w.sent(operation::children) == 1);
    w.other.leave(1, mode);
    REQUIRE(w.ends(w.of_third, outcome::granted));
    w.third.leave(1, mode);
    REQUIRE(w.ends(late, outcome::granted));
    CHECK(w.queued(2));
    CHECK(again->what == outcome::waiting);
    const auto between = fourth.current(1, mode).fence();
    fourth.leave(1, mode);
    REQUIRE(w.ends(again, outcome::granted));
    CHECK(w.fence() > between);
  }

  TEST_CASE("who has had its turns goes to the end in one transaction") {
    of_turns w;
    const auto theirs = w.other.enter(1, mode);
    REQUIRE(w.queued(2));
    std::vector<simulated_lock::call> locals;
    for (std::uint64_t fiber = 2; fiber <= 4; ++fiber) locals.push_back(w.lock->enter(fiber, mode));
    w.leave();
    for (std::uint64_t fiber = 2; locals[fiber - 2]->what == outcome::granted; ++fiber) {
      REQUIRE(fiber < 4);
      w.time.run_for(100ms);
      w.lock->leave(fiber, mode);
    }
    REQUIRE(w.ends(theirs, outcome::granted));
    CHECK(w.sent(request_kind::requeue) == 1);
    CHECK(w.sent(operation::remove) == 0);
    CHECK(w.queued(2));
  }

  TEST_CASE_TEMPLATE("whatever becomes of the question for the last, the lock is had, once, and nothing stays", World,
                     turns_among_others, places_among_others) {
    for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect, trap::stuck}) {
      CAPTURE(static_cast<int>(fate));
      World w;
      w.one.connector().set_trap(operation::get, fate);
      w.leave();
      const auto again = w.lock->enter(1, mode);
      REQUIRE(w.ends(w.theirs, outcome::granted));
      w.other.leave(1, mode);
      REQUIRE(w.ends(w.of_third, outcome::granted));
      REQUIRE(w.queued(2));
      CHECK(again->what == outcome::waiting);
      const auto between = w.third.current(1, mode).fence();
      w.third.leave(1, mode);
      REQUIRE(w.ends(again, outcome::granted));
      CHECK(w.fence() > between);
      w.leave();
      CHECK(w.nothing_is_left());
    }
  }
}
}  // namespace latchkey::testing
