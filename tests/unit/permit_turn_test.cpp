// SPDX-License-Identifier: Apache-2.0
/// Permits that pass from caller to caller of one object, and those that are kept.

#include <doctest/doctest.h>

#include "support/permit_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

}  // namespace

TEST_SUITE("permit turns") {
  TEST_CASE("a permit passes to the next caller without a request while no other client waits") {
    permit_world w{1, {.turns = 2}};
    auto held = w.take(w.ours);
    auto next = w.ours.enter();
    w.ours.leave(held);
    CHECK(next.granted());
    w.settle();
    w.one.connector().forget_sent();
    for (int i = 0; i < 100; ++i) {
      const auto another = w.ours.enter();
      w.ours.leave(next);
      REQUIRE(another.granted());
      CHECK(another.held().fence() > next.held().fence());
      next = another;
    }
    CHECK(w.one.connector().sent() == 0);
    w.ours.leave(next);
    CHECK(w.is_clean());
  }

  TEST_CASE("who has given a permit back does not give it back once more, for the caller after it") {
    permit_world w{1};
    const auto held = w.take(w.ours);
    const auto next = w.ours.enter();
    w.ours.leave(held);
    REQUIRE(next.granted());
    w.ours.leave(held);
    CHECK(next.held());
    CHECK(w.ends(w.ours.enter_once(), outcome::refused));
    w.ours.leave(next);
    CHECK(w.is_clean());
  }

  TEST_CASE("a client that waits gets its permit after the turns") {
    permit_world w{1, {.turns = 3}};
    auto held = w.take(w.ours);
    const auto remote = w.theirs.enter();
    w.settle();
    int turns = 1;
    for (; turns < 50; ++turns) {
      const auto next = w.ours.enter();
      w.ours.leave(held);
      w.settle();
      held = next;
      if (!next.granted()) break;
    }
    CHECK(turns == 3);
    REQUIRE(w.ends(remote, outcome::granted));
    CHECK(held.waits());
    w.theirs.leave(remote);
    REQUIRE(w.ends(held, outcome::granted));
    w.ours.leave(held);
    CHECK(w.is_clean());
  }

  TEST_CASE("a caller that waits for one permit takes it out of several, and the rest is given up") {
    permit_world w{3};
    const auto all = w.take(w.ours, 3);
    const auto one = w.ours.enter();
    w.ours.leave(all);
    CHECK(one.granted());
    w.settle();
    CHECK(w.leases().size() == 1);
    w.ours.leave(one);
    CHECK(w.is_clean());
  }

  TEST_CASE("a caller that waits for several permits does not keep those that are too few") {
    permit_world w{2};
    const auto first = w.take(w.ours);
    const auto remote = w.take(w.theirs);
    const auto both = w.ours.enter(2);
    w.settle();
    w.ours.leave(first);
    w.settle();
    CHECK(both.waits());
    w.theirs.leave(remote);
    REQUIRE(w.ends(both, outcome::granted));
    w.ours.leave(both);
    CHECK(w.is_clean());
  }

  TEST_CASE("callers of one object never hold more permits than there are, also after a loss") {
    permit_world w{1};
    const auto lost = w.take(w.ours);
    w.settle();
    w.ensemble.remove(w.lease(lost));
    REQUIRE(w.eventually([&] { return lost.held().loss() == loss_reason::node_deleted; }));
    const auto next = w.ours.enter();
    CHECK(w.ends(w.ours.enter_once(), outcome::refused));
    w.settle();
    CHECK(next.waits());
    CHECK(w.locks().empty());  // it keeps nobody else from taking the permit
    w.theirs.leave(w.take(w.theirs));
    w.ours.leave(lost);
    REQUIRE(w.ends(next, outcome::granted));
    w.ours.leave(next);
    CHECK(w.is_clean());
  }

  TEST_CASE("a permit that lingers is taken again without a request") {
    permit_world w{2, {.linger = 1h}};
    const auto first = w.take(w.ours);
    w.ours.leave(first);
    w.settle();
    CHECK(w.leases().size() == 1);
    w.one.connector().forget_sent();
    const auto again = w.ours.enter();
    CHECK(again.granted());
    CHECK(w.one.connector().sent() == 0);
    CHECK(again.held().fence() > first.held().fence());
    w.ours.leave(again);
    w.time.run_for(2h);
    CHECK(w.is_clean());
  }

  TEST_CASE("a permit that lingers is given up when another client waits") {
    permit_world w{1, {.linger = 1h}};
    w.ours.leave(w.take(w.ours));
    w.settle();
    REQUIRE(w.leases().size() == 1);
    const auto remote = w.theirs.enter();
    REQUIRE(w.ends(remote, outcome::granted));
    w.settle();
    CHECK(w.leases().size() == 1);
    w.theirs.shut();
    CHECK(w.is_clean());
  }

  TEST_CASE("a permit that lingers without proofs is proved before it is used") {
    permit_world w{1, {.linger = 1h}};
    w.ours.leave(w.take(w.ours));
    w.time.run_for(1min);
    w.one.connector().forget_sent();
    const auto again = w.ours.enter();
    CHECK(again.waits());
    REQUIRE(w.ends(again, outcome::granted));
    CHECK(w.one.connector().sent(request_kind::check) == 1);
    CHECK(w.one.connector().sent(operation::create) == 0);
    w.ours.leave(again);
    w.ours.shut();
    CHECK(w.is_clean());
  }

  TEST_CASE("a permit that went while it lingered is not taken for one") {
    for (const bool expires : {false, true}) {
      CAPTURE(expires);
      permit_world w{1, {.linger = 1h}};
      w.ours.leave(w.take(w.ours));
      w.settle();
      if (expires) {
        w.ensemble.expire(w.session(w.one));
      } else {
        w.ensemble.remove("/s/leases/" + w.leases().at(0));
      }
      w.settle();
      CHECK(w.leases().empty());
      const auto again = w.take(w.ours);
      CHECK_FALSE(w.lease(again).empty());
      w.ours.leave(again);
      w.ours.shut();
      CHECK(w.is_clean());
    }
  }

  TEST_CASE("who holds longer than max_hold loses the permit, which another client gets") {
    permit_world w{2, {.max_hold = 10s}};
    const auto early = w.take(w.ours);
    w.time.run_for(5s);
    const auto late = w.take(w.ours);
    const auto remote = w.theirs.enter();
    w.time.run_for(4s);
    CHECK(early.held());
    REQUIRE(w.ends(remote, outcome::granted));
    CHECK(early.held().loss() == loss_reason::held_too_long);
    CHECK(late.held());
    w.theirs.leave(remote);
    w.time.run_for(10s);
    CHECK(late.held().loss() == loss_reason::held_too_long);
    w.ours.leave(early);
    w.ours.leave(late);
    CHECK(w.is_clean());
  }

  TEST_CASE("a holder that is asked to release hears of it, and its permit is not passed on") {
    permit_world w{1};
    const auto held = w.take(w.ours);
    w.settle();
    held.held().release_token();
    w.ensemble.change(w.lease(held), "__REVOKE__");
    REQUIRE(w.eventually([&] { return held.held().asked_to_release(); }));
    const auto node = w.lease(held);
    const auto next = w.ours.enter();
    w.ours.leave(held);
    REQUIRE(w.ends(next, outcome::granted));
    CHECK(w.lease(next) != node);
    w.ours.leave(next);
    CHECK(w.is_clean());
  }
}

}  // namespace latchkey::testing
