// SPDX-License-Identifier: Apache-2.0
#include "checker.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "verdicts.hpp"

namespace chaos {
TEST_CASE("grants one after the other are accepted") {
  accepts(story{}.own(a, 10, 20, 1).own(b, 20, 30, 2).own(a, 31, 31, 3).own(c, 32, 50, 4));
}

TEST_CASE("nothing at all is accepted") { accepts(story{}); }

TEST_CASE("two who hold a lock at the same time are an overlap") {
  refuses(story{}.own(a, 10, 21, 1).own(b, 20, 30, 2), rule::overlap);
}

TEST_CASE("a grant inside of another is an overlap") {
  refuses(story{}.own(a, 10, 100, 1).own(b, 20, 30, 2).own(c, 40, 50, 3), rule::overlap);
}

TEST_CASE("an overlap with a holder that was killed afterwards is found") {
  refuses(story{}.hold(a, 10, 21, 1).own(b, 20, 30, 2), rule::overlap);
}

TEST_CASE("locks are looked at one by one") {
  story two;
  two.own(a, 10, 50, 1);
  two.say(15, b, event_kind::granted, 1, 2, "0").say(40, b, event_kind::held, 1, 2, "0");
  accepts(two.say(40, b, event_kind::unlocks, 1, 2));
}

TEST_CASE("what a stopped process did not look at is no overlap") {
  story stopped;
  stopped.hold(a, 10, 20, 1, 500).harm(21, 900, "stop worker", "w1");
  stopped.say(901, a, event_kind::lost, 0, 1, "deadline passed").say(901, a, event_kind::unlocks, 0, 1);
  accepts(stopped.own(b, 600, 700, 2).own(b, 950, 960, 3));
}

TEST_CASE("a stopped process that still believes to hold the lock when it goes on is an overlap") {
  story stopped;
  stopped.hold(a, 10, 20, 1, 500).harm(21, 900, "stop worker", "w1").look(901, a, event_kind::held, 1, 1'000);
  refuses(stopped.own(b, 600, 700, 2).own(b, 1'100, 1'110, 3), rule::overlap);
}

TEST_CASE("nobody may be granted a lock before the lease of a killed holder is over") {
  story killed;
  killed.hold(a, 10, 20, 1, 500).say(25, "w1.1", event_kind::killed, -1);
  accepts(story{killed}.own(b, 500, 600, 2));
  refuses(story{killed}.own(b, 499, 600, 2), rule::lease);
}

TEST_CASE("who unlocks, or sees its loss, ends its lease") {
  accepts(story{}.own(a, 10, 20, 1, 500).own(b, 21, 30, 2));
  accepts(story{}.hold(a, 10, 20, 1, 500).say(21, a, event_kind::lost, 0, 1, "node deleted").own(b, 22, 30, 2));
}

TEST_CASE("an unlock after the next grant does not end a lease") {
  refuses(story{}.hold(a, 10, 20, 1, 500).own(b, 21, 30, 2).say(40, a, event_kind::unlocks, 0, 1), rule::lease);
}

TEST_CASE("no lease foresees that a session is ended from outside: those who come then are not blamed") {
  story expired;
  expired.hold(a, 10, 25, 1, 500).harm(15, 19, "expire session", "w1", true);
  accepts(story{expired}.own(b, 20, 21, 2).own(c, 22, 30, 3));
  refuses(story{expired}.own(b, 14, 16, 2).own(c, 40, 50, 3), rule::overlap);
  refuses(story{expired}.own(b, 20, 23, 2).own(c, 22, 30, 3), rule::overlap);
}

TEST_CASE("a killed holder that was ended from outside has no lease from then on") {
  story expired;
  expired.hold(a, 10, 12, 1, 500).harm(11, 19, "expire session", "w1", true);
  accepts(story{expired}.own(b, 20, 30, 2));
  accepts(story{}.hold(a, 10, 12, 1, 500).harm(15, 19, "expire session", "w1", true).own(b, 20, 30, 2));
  expired = story{}.hold(a, 10, 12, 1, 500).harm(31, 32, "expire session", "w1", true);
  refuses(expired.own(b, 20, 30, 2).own(c, 600, 601, 3), rule::lease);
}

TEST_CASE("a fault from outside excuses its victim only, and only then") {
  story one;
  one.own(a, 10, 25, 1).own(b, 20, 30, 2);
  refuses(story{one}.harm(15, 19, "expire session", "w3", true).own(c, 40, 50, 3), rule::overlap);
  refuses(story{one}.harm(1, 5, "expire session", "w1", true).own(c, 40, 50, 3), rule::overlap);
  refuses(story{one}.harm(15, 19, "black hole", "w1").own(c, 40, 50, 3), rule::overlap);
}

TEST_CASE("a token that is not larger than all before it is refused") {
  refuses(story{}.own(a, 10, 20, 2).own(b, 30, 40, 1), rule::token);
  refuses(story{}.own(a, 10, 20, 2).own(b, 30, 40, 2), rule::token);
  refuses(story{}.own(a, 10, 20, 5).own(b, 30, 40, 6).own(c, 50, 60, 5), rule::token);
}

TEST_CASE("the owner of a deleted node is excused, for a moment, for that lock, and nobody else is") {
  const auto moment = limits{}.deletion.count();
  const auto overlap_until = [](std::int64_t end) {
    return story{}.hold(a, 10, end, 1, 9'000).own(b, 120, end + 1'000, 2).own(c, end + 2'000, end + 2'001, 3);
  };
  accepts(overlap_until(100 + moment).remove(90, 100, "w1"));
  refuses(overlap_until(101 + moment).remove(90, 100, "w1"), rule::overlap);
  refuses(overlap_until(130).remove(90, 100, "w3"), rule::overlap);
  refuses(overlap_until(130).remove(90, 100, "w1", 1), rule::overlap);
  refuses(overlap_until(130).remove(125, 126, "w1"), rule::overlap);
}

TEST_CASE("the next turn on a deleted node is excused for the same moment") {
  const auto overlaps_at = [](std::int64_t time) {
    story turn;
    turn.own("w1.1/0/1", 10, 100, 1).remove(95, 100, "w1").own(b, 110, time + 100, 5).hold(a, time, time + 5, 1);
    const auto found = check(turn.own(c, time + 200, time + 201, 6).tell());
    return std::any_of(found.begin(), found.end(), [](const violation& one) { return one.which == rule::overlap; });
  };
  CHECK_FALSE(overlaps_at(120));
  CHECK(overlaps_at(120 + limits{}.deletion.count()));
}

TEST_CASE("a waiter whose node was deleted is excused for a moment after that, and not when its turn comes") {
  const auto moment = limits{}.deletion.count();
  const auto waiter_of = [&](std::int64_t deleted) {
    story waits;
    waits.own(b, 1, 1'300, 1).say(5, a, event_kind::waits, 0, 0, "lock");
    waits.look(1'200, a, event_kind::granted, 2, 1'210).look(1'210, a, event_kind::held, 2, 1'210);
    return waits.say(1'211, a, event_kind::unlocks, 0, 2).remove(deleted, deleted, "w1").own(c, 2'000, 2'001, 3);
  };
  accepts(waiter_of(1'210 - moment));
  refuses(waiter_of(1'209 - moment), rule::overlap);
}

TEST_CASE("a waiter whose node was deleted a moment ago may meet a lease") {
  const auto moment = limits{}.deletion.count();
  const auto meets_lease = [](std::int64_t deleted) {
    story waits;
    waits.say(5, a, event_kind::waits, 0, 0, "lock").hold(b, 1'020, 1'020, 5, 2'000).say(1'020, b, event_kind::killed);
    waits.look(1'021, a, event_kind::granted, 4, 1'021).say(1'022, a, event_kind::unlocks, 0, 4);
    return waits.remove(deleted, deleted, "w1").own(c, 2'001, 2'002, 6);
  };
  accepts(meets_lease(1'021 - moment));
  const auto found = check(meets_lease(1'020 - moment).tell());
  CHECK(std::any_of(found.begin(), found.end(), [](const violation& one) { return one.which == rule::lease; }));
}

TEST_CASE("the news of a deletion may be late when something else is wrong with its owner, or with the servers") {
  const auto moment = limits{}.deletion.count();
  story late;
  late.hold(a, 10, 200 + moment, 1, 9'000).remove(90, 100, "w1").own(b, 120, 9'000, 2).own(c, 9'100, 9'101, 3);
  refuses(story{late}, rule::overlap);
  refuses(story{late}.harm(50, 300, "black hole", "w2"), rule::overlap);
  accepts(story{late}.harm(50, 300, "black hole", "w1"));
  accepts(story{late}.harm(50, 300, "kill leader", "server 1"));
}

TEST_CASE("the token of a session that was ended from outside must be in order all the same") {
  refuses(story{}.own(b, 1, 5, 9).own(a, 10, 25, 1).own(b, 20, 30, 12).harm(15, 19, "expire session", "w1", true),
          rule::token);
}

TEST_CASE("the turns of one place in the queue count in the order of tokens") {
  story turns;
  turns.own(a, 10, 20, 1).own(b, 30, 40, 1);
  auto all = turns.tell();
  for (auto& what : all.events) {
    if (what.who == b) what.token.turn = 1;
  }
  CHECK(check(all).empty());
}

TEST_CASE("the store refuses the late write of who has lost the lock, and that is right") {
  story late;
  late.hold(a, 10, 20, 1).say(25, a, event_kind::lost, 0, 1, "deadline passed").own(b, 30, 40, 2);
  accepts(late.say(35, b, event_kind::wrote, 0, 2).say(38, a, event_kind::wrote, 0, 1));
}

TEST_CASE("the store must not refuse the write of the holder") {
  story wrong;
  wrong.own(a, 10, 20, 2).own(b, 30, 40, 1).say(15, a, event_kind::wrote, 0, 2).say(35, b, event_kind::wrote, 0, 1);
  const auto found = check(wrong.tell());
  REQUIRE(found.size() == 2);
  CHECK(found[0].which == rule::token);
  CHECK(found[1].which == rule::store);
}

TEST_CASE("callers of one lock object are served in the order in which they came") {
  const std::string other = "w1.1/0/1";
  story line;
  line.say(1, a, event_kind::waits, 0, 0, "lock").say(2, other, event_kind::waits, 0, 0, "lock");
  story right{line};
  right.look(10, a, event_kind::granted, 1, 10).say(11, a, event_kind::unlocks, 0, 1);
  accepts(right.look(20, other, event_kind::granted, 2, 20).say(21, other, event_kind::unlocks, 0, 2));
  story wrong{line};
  wrong.look(10, other, event_kind::granted, 1, 10).say(11, other, event_kind::unlocks, 0, 1);
  refuses(wrong.look(20, a, event_kind::granted, 2, 20).say(21, a, event_kind::unlocks, 0, 2), rule::order);
}

TEST_CASE("callers of two lock objects may overtake each other") {
  story two;
  two.say(1, a, event_kind::waits, 0, 0, "lock").say(2, b, event_kind::waits, 0, 0, "lock");
  two.look(10, b, event_kind::granted, 1, 10).say(11, b, event_kind::unlocks, 0, 1);
  accepts(two.look(20, a, event_kind::granted, 2, 20).say(21, a, event_kind::unlocks, 0, 2));
}

TEST_CASE("a call with a timeout comes back in time, unless its process was stopped") {
  story in_time;
  accepts(in_time.say(1, a, event_kind::waits, 0, 0, "for 100").say(200, a, event_kind::refused));
  story late;
  late.say(1, a, event_kind::waits, 0, 0, "for 100").say(9'000, a, event_kind::refused);
  refuses(late, rule::timeout);
  for (const auto* const fault : {"stop worker", "starve worker"}) {
    accepts(story{late}.harm(50, 8'000, fault, "w1").own(b, 8'500, 8'600, 1));
  }
}

TEST_CASE("a call that never comes back is refused when its process closed, and not when it was killed") {
  story waits;
  waits.say(1, "w1.1", event_kind::opened, -1).say(2, a, event_kind::waits, 0, 0, "lock");
  refuses(story{waits}.say(900, "w1.1", event_kind::closed, -1), rule::unanswered);
  accepts(story{waits}.say(900, "w1.1", event_kind::killed, -1));
}

TEST_CASE("every lock is granted again after the last fault") {
  story two;
  two.own(a, 10, 20, 1).say(10, b, event_kind::granted, 1, 2, "0").say(20, b, event_kind::unlocks, 1, 2);
  two.harm(30, 40, "kill leader", "server 1").own(a, 50, 60, 3);
  refuses(two, rule::recovery);
  accepts(two.say(70, b, event_kind::granted, 1, 4, "0").say(71, b, event_kind::unlocks, 1, 4));
}

TEST_CASE("a lock that is wanted is granted again within a bound after the last fault") {
  const auto bound = limits{}.recovery.count();
  story slow;
  slow.own(a, 10, 20, 1).harm(30, 40, "kill leader", "server 1").say(35, b, event_kind::waits, 0, 0, "lock");
  slow.look(40 + bound + 1'000, b, event_kind::granted, 2, 0);
  refuses(slow.say(40 + bound + 1'001, b, event_kind::unlocks, 0, 2), rule::recovery);
  accepts(story{}.own(a, 10, 20, 1).harm(30, 40, "kill leader", "server 1").own(b, bound * 2, bound * 2 + 1, 2));
}

TEST_CASE("every peace that is long enough counts, not only the last") {
  const auto bound = limits{}.recovery.count();
  story slow;
  slow.own(a, 10, 20, 1).harm(30, 40, "kill leader", "server 1").say(35, b, event_kind::waits, 0, 0, "lock");
  slow.look(5'000 + bound, b, event_kind::granted, 2, 0).say(5'001 + bound, b, event_kind::unlocks, 0, 2);
  story later{slow};
  later.harm(6'000 + bound, 7'000 + bound, "delay", "w1").own(c, 8'000 + bound, 8'001 + bound, 3);
  refuses(later, rule::recovery);
  accepts(later.harm(4'000, 6'000, "delay", "w1"));
}

TEST_CASE("who is asked to stop no longer holds the lock") {
  story early;
  early.own(a, 10, 20, 1);
  refuses(story{early}.say(15, a, event_kind::stopped, 0, 1, "held"), rule::told_early);
  accepts(story{early}.say(21, a, event_kind::stopped, 0, 1, "over"));
}

TEST_CASE("what is left behind, hangs, crashes or throws is refused") {
  for (const auto kind : {event_kind::leftover, event_kind::hung, event_kind::crashed, event_kind::failed}) {
    refuses(story{}.own(a, 10, 20, 1).say(30, "w1.1", kind, -1), rule::failure);
  }
}

}  // namespace chaos
