// SPDX-License-Identifier: Apache-2.0
// The rules that only some families of locks have to keep.
#include "checker.hpp"

#include <doctest/doctest.h>

#include "verdicts.hpp"

namespace chaos {
namespace {

/// A writer that has become a reader, and reads until then.
story& weaken(story& what, const std::string& who, std::int64_t written, std::int64_t read, std::int64_t until,
              std::int64_t token) {
  what.hold(who, written, written + 5, token).say(written + 6, who, event_kind::weakens, 0, token).reading();
  what.look(read, who, event_kind::granted, token, until).look(until, who, event_kind::held, token, until);
  return what.say(until, who, event_kind::unlocks, 0, token).writing();
}

/// Queued with a ticket, granted later.
story& stand(story& what, const std::string& who, std::int64_t called, std::int64_t queued, std::int64_t granted,
             std::int64_t token) {
  what.say(called, who, event_kind::waits, 0, 0, "enqueue").say(queued, who, event_kind::queued);
  what.say(queued, who, event_kind::waits, 0, 0, "lock").look(granted, who, event_kind::granted, token, granted);
  return what.say(granted + 1, who, event_kind::unlocks, 0, token);
}

}  // namespace

// Readers and writers ----------

TEST_CASE("readers may overlap readers") {
  accepts(story{}.read(a, 10, 40, 1).read(b, 20, 30, 3).read(c, 25, 60, 2).own(a, 61, 70, 4));
}

TEST_CASE("a writer must not overlap a reader, whoever came first") {
  refuses(story{}.read(a, 10, 21, 1).own(b, 20, 30, 2), rule::overlap);
  refuses(story{}.own(a, 10, 21, 1).read(b, 20, 30, 2), rule::overlap);
}

TEST_CASE("a writer that overlaps the longest of several readers is found") {
  refuses(story{}.read(a, 10, 100, 1).read(b, 20, 30, 2).read(c, 35, 40, 3).own(b, 50, 60, 4), rule::overlap);
  refuses(story{}.read(a, 10, 60, 1).own(b, 20, 30, 2).read(c, 40, 50, 3), rule::overlap);
}

TEST_CASE("no writer may be granted a lock before the lease of a killed reader is over, but readers may") {
  story killed;
  killed.reading().hold(a, 10, 20, 1, 500).writing().say(25, "w1.1", event_kind::killed, -1);
  accepts(story{killed}.read(b, 30, 40, 2).own(c, 500, 600, 3));
  refuses(story{killed}.read(b, 30, 40, 2).own(c, 499, 600, 3), rule::lease);
}

TEST_CASE("no reader may be granted a lock before the lease of a killed writer is over") {
  story killed;
  killed.hold(a, 10, 20, 1, 500).say(25, "w1.1", event_kind::killed, -1);
  accepts(story{killed}.read(b, 500, 600, 2));
  refuses(story{killed}.read(b, 499, 600, 2), rule::lease);
}

TEST_CASE("no lease foresees that the session of a reader is ended from outside") {
  story expired;
  expired.read(a, 10, 25, 1).harm(15, 19, "expire session", "w1", true);
  accepts(story{expired}.own(b, 20, 30, 2).own(c, 40, 50, 3));
  refuses(story{expired}.own(b, 14, 30, 2).own(c, 40, 50, 3), rule::overlap);
}

// Tokens of readers ----------

TEST_CASE("the token of a reader is not smaller than that of a writer before it") {
  accepts(story{}.own(a, 10, 20, 2).read(b, 30, 40, 2).own(c, 50, 60, 3));
  refuses(story{}.own(a, 10, 20, 2).read(b, 30, 40, 1), rule::token);
}

TEST_CASE("the token of a reader is not larger than that of a writer after it") {
  accepts(story{}.read(a, 10, 20, 2).own(b, 30, 40, 3));
  refuses(story{}.read(a, 10, 20, 4).own(b, 30, 40, 3), rule::token);
  refuses(story{}.read(a, 10, 20, 4).read(b, 25, 27, 2).own(c, 30, 40, 3), rule::token);
}

TEST_CASE("the tokens of writers grow, also with readers between them") {
  refuses(story{}.own(a, 10, 20, 2).read(b, 30, 40, 2).own(c, 50, 60, 2), rule::token);
}

// From writer to reader ----------

TEST_CASE("a writer that becomes a reader lets readers in, and no writer") {
  story one;
  weaken(one, a, 10, 30, 60, 1);
  accepts(story{one}.read(b, 31, 50, 2).own(c, 61, 70, 3));
  accepts(story{one}.read(b, 18, 50, 2).own(c, 61, 70, 3));
  refuses(story{one}.own(c, 18, 20, 3), rule::overlap);
  refuses(story{one}.own(c, 40, 50, 3), rule::overlap);
}

TEST_CASE("a writer lets no reader in before it begins to become one") {
  story one;
  refuses(weaken(one, a, 10, 30, 60, 1).read(b, 14, 50, 2), rule::overlap);
}

TEST_CASE("a writer that is killed on its way to becoming a reader keeps writers away until its lease is over") {
  story killed;
  killed.hold(a, 10, 20, 1, 500).say(21, a, event_kind::weakens, 0, 1).say(25, "w1.1", event_kind::killed, -1);
  accepts(story{killed}.read(b, 30, 40, 2).own(c, 500, 600, 3));
  refuses(story{killed}.read(b, 30, 40, 2).own(c, 499, 600, 3), rule::lease);
}

TEST_CASE("a writer that loses the lock on its way to becoming a reader has no lease any more") {
  story lost;
  lost.hold(a, 10, 20, 1, 500).say(21, a, event_kind::weakens, 0, 1).say(25, a, event_kind::lost, 0, 1, "node deleted");
  accepts(lost.say(26, a, event_kind::unlocks, 0, 1).own(b, 30, 40, 2));
}

// Order ----------

TEST_CASE("the readers of one lock object come in together, its writers one after the other") {
  const std::string other = "w1.1/0/1";
  story readers;
  readers.is(family::shared).reading();
  readers.say(1, a, event_kind::waits, 0, 0, "lock").say(2, other, event_kind::waits, 0, 0, "lock");
  readers.look(10, other, event_kind::granted, 1, 10).say(11, other, event_kind::unlocks, 0, 1);
  accepts(readers.look(12, a, event_kind::granted, 2, 12).say(13, a, event_kind::unlocks, 0, 2));
  story writers;
  writers.is(family::shared);
  writers.say(1, a, event_kind::waits, 0, 0, "lock").say(2, other, event_kind::waits, 0, 0, "lock");
  writers.look(10, other, event_kind::granted, 1, 10).say(11, other, event_kind::unlocks, 0, 1);
  refuses(writers.look(12, a, event_kind::granted, 2, 12).say(13, a, event_kind::unlocks, 0, 2), rule::order);
}

TEST_CASE("who has a place in the line of a fair lock is served before all who called for one later") {
  story line;
  line.is(family::fair);
  stand(line, a, 1, 5, 30, 2);
  accepts(story{line}.say(6, b, event_kind::waits, 0, 0, "lock").look(40, b, event_kind::granted, 3, 40));
  accepts(story{line}
              .say(4, b, event_kind::waits, 0, 0, "lock")
              .look(20, b, event_kind::granted, 1, 20)
              .say(21, b, event_kind::unlocks, 0, 1));
  story overtaken{line};
  overtaken.say(6, b, event_kind::waits, 0, 0, "lock").look(20, b, event_kind::granted, 1, 20);
  refuses(overtaken.say(21, b, event_kind::unlocks, 0, 1), rule::order);
}

TEST_CASE("a wait that ends without the lock keeps the place in line, giving it up does not") {
  story tired;
  tired.is(family::fair).say(1, a, event_kind::waits, 0, 0, "enqueue").say(5, a, event_kind::queued);
  tired.say(6, a, event_kind::waits, 0, 0, "for 1").say(8, a, event_kind::refused);
  tired.say(7, b, event_kind::waits, 0, 0, "lock").look(20, b, event_kind::granted, 1, 20);
  tired.say(21, b, event_kind::unlocks, 0, 1);
  story goes_on{tired};
  goes_on.say(9, a, event_kind::waits, 0, 0, "lock").look(40, a, event_kind::granted, 2, 40);
  refuses(goes_on.say(41, a, event_kind::unlocks, 0, 2), rule::order);
  story queues_again{tired};
  queues_again.say(9, a, event_kind::left, 0, 0, "queued again");
  accepts(stand(queues_again, a, 10, 11, 40, 2));
  tired.say(9, a, event_kind::left, 0, 0, "given up").say(10, a, event_kind::waits, 0, 0, "lock");
  accepts(tired.look(40, a, event_kind::granted, 2, 40).say(41, a, event_kind::unlocks, 0, 2));
}

TEST_CASE("a place in line whose node was deleted from outside may be overtaken") {
  story line;
  line.is(family::fair);
  stand(line, a, 1, 5, 30, 2).say(6, b, event_kind::waits, 0, 0, "lock");
  line.look(20, b, event_kind::granted, 1, 20).say(21, b, event_kind::unlocks, 0, 1);
  accepts(line.harm(10, 11, "delete node", "w1", true).own(c, 50, 51, 3));
}

TEST_CASE("the node of a ticket may be deleted before anybody waits with it") {
  const auto moment = limits{}.deletion.count();
  const auto waits_at = [](std::int64_t time) {
    story line;
    line.is(family::fair).say(1, a, event_kind::waits, 0, 0, "enqueue").say(5, a, event_kind::queued);
    line.remove(10, 11, "w1").own(b, time + 1, time + 100, 7).say(time, a, event_kind::waits, 0, 0, "lock");
    line.look(time + 2, a, event_kind::granted, 6, time + 2).say(time + 2, a, event_kind::wrote, 0, 6);
    line.say(time + 1, b, event_kind::wrote, 0, 7).look(time + 3, a, event_kind::held, 6, time + 3);
    return line.say(time + 4, a, event_kind::unlocks, 0, 6).own(c, time + 200, time + 201, 8);
  };
  accepts(waits_at(20));
  refuses(waits_at(20 + moment), rule::overlap);
}

// Once more ----------

TEST_CASE("a lock that is taken once more is held under the same grant") {
  story twice;
  twice.is(family::reentrant).own(a, 10, 20, 3);
  accepts(story{twice}.say(15, a, event_kind::entered, 0, 3));
  refuses(story{twice}.say(15, a, event_kind::entered, 0, 4), rule::reentry);
  refuses(story{twice}.say(25, a, event_kind::entered, 0, 3), rule::reentry);
}

// Of another library ----------

TEST_CASE("a lock of another library has no tokens, and no more than one holder") {
  story other;
  other.is(family::foreign).own(a, 10, 20, 0).own(b, 30, 40, 0);
  accepts(other);
  refuses(story{other}.own(c, 35, 45, 0), rule::overlap);
}

// Calls ----------

TEST_CASE("a place in line that is never given an answer is refused, one that is taken or lost is not") {
  story line;
  line.is(family::fair).say(1, "w1.1", event_kind::opened, -1).say(2, a, event_kind::waits, 0, 0, "enqueue");
  refuses(story{line}.say(900, "w1.1", event_kind::closed, -1), rule::unanswered);
  accepts(story{line}.say(3, a, event_kind::queued).say(900, "w1.1", event_kind::closed, -1));
  accepts(story{line}.say(3, a, event_kind::left, 0, 0, "lost").say(900, "w1.1", event_kind::closed, -1));
}

TEST_CASE("a lock that somebody reads for long does not stand still") {
  const auto bound = limits{}.recovery.count();
  story read;
  read.read(a, 10, 2 * bound, 1).read(b, 20, 30, 2).harm(35, 40, "kill leader", "server 1");
  read.say(45, c, event_kind::waits, 0, 0, "lock").look(2 * bound + 1, c, event_kind::granted, 3, 0);
  accepts(read.say(2 * bound + 2, c, event_kind::unlocks, 0, 3));
}

}  // namespace chaos
