// SPDX-License-Identifier: Apache-2.0
/// An operator deletes the nodes of waiters and holders: exact situations.

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "support/operated_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

struct parties {
  lock_family family;
  contender_kind a;
  contender_kind b;
  contender_kind d;
  bool on_one_object;
};

}  // namespace

TEST_SUITE("own node") {
  TEST_CASE("a waiter whose node is deleted is not let in with the one behind it, but queues again") {
    for (const auto& who :
         {parties{lock_family::turns, mode, mode, mode, false}, parties{lock_family::fair, mode, mode, mode, false},
          parties{lock_family::fair, mode, mode, mode, true},
          parties{lock_family::shared, contender_kind::write, contender_kind::read, contender_kind::write, false}}) {
      for (const bool proofs : {true, false}) {
        for (const auto waited : {20ms, 60'000ms}) {
          CAPTURE(static_cast<int>(who.family));
          CAPTURE(who.on_one_object);
          CAPTURE(proofs);
          CAPTURE(waited.count());
          operated_world w{proofs};
          simulated_lock of_a{w.two, "/q", {who.family}};
          simulated_lock of_b{w.one, "/q", {who.family}};
          simulated_lock of_d{w.three, "/q", {who.family}};
          auto& holding = who.on_one_object ? of_b : of_a;
          REQUIRE(w.ends(holding.enter(1, who.a), outcome::granted));
          const auto b = of_b.enter(2, who.b);
          REQUIRE(w.queued(2));
          const auto d = of_d.enter(1, who.d);
          REQUIRE(w.queued(3));
          w.time.run_for(waited);
          w.remove(w.nodes()[1]);
          w.time.run_for(soon);
          CHECK(b->what == outcome::waiting);
          holding.leave(1, who.a);
          REQUIRE(w.ends(d, outcome::granted));
          w.time.run_for(1s);
          CHECK(b->what == outcome::waiting);
          of_d.leave(1, who.d);
          CHECK(w.ends(b, outcome::granted));
        }
      }
    }
  }

  TEST_CASE("the whole path is deleted: the waiter does not overlap with a newcomer on the path created again") {
    for (const auto family : {lock_family::turns, lock_family::fair}) {
      for (const bool waiter_first : {true, false}) {
        CAPTURE(static_cast<int>(family));
        CAPTURE(waiter_first);
        operated_world w;
        simulated_lock of_a{w.two, "/q", {family}};
        simulated_lock of_b{w.one, "/q", {family}};
        simulated_lock newcomer{w.three, "/q", {family}};
        REQUIRE(w.ends(of_a.enter(1, mode), outcome::granted));
        const auto b = of_b.enter(1, mode);
        REQUIRE(w.queued(2));
        const auto nodes = w.nodes();
        w.remove(nodes[waiter_first ? 1 : 0]);
        w.remove(nodes[waiter_first ? 0 : 1]);
        w.remove("/q");
        const auto taken = w.take_over();
        const auto c = newcomer.enter(1, mode);
        w.time.run_for(soon);
        CHECK_FALSE(of_a.current(1, mode));
        CHECK_FALSE(of_b.current(1, mode));
        if (waiter_first) CHECK(b->what == outcome::waiting);
        if (b->what == outcome::granted) of_b.leave(1, mode);
        w.time.run_for(1s);
        CHECK(c->what == outcome::waiting);
        w.remove(taken);
        REQUIRE(w.eventually([&] { return c->what == outcome::granted || of_b.current(1, mode); }));
        CHECK_FALSE((newcomer.current(1, mode) && of_b.current(1, mode)));
      }
    }
  }

  TEST_CASE("a place that is kept is lost as soon as its node is deleted") {
    operated_world w;
    simulated_lock other{w.two, "/q", {lock_family::fair}};
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    REQUIRE(w.ends(other.enter(1, mode), outcome::granted));
    const auto place = line.make_place();
    REQUIRE(w.ends(line.queue(place, 1), outcome::granted));
    REQUIRE(w.queued(2));
    CHECK_FALSE(place->lost());
    w.remove(w.nodes()[1]);
    w.time.run_for(soon);
    CHECK(place->lost());
  }

  TEST_CASE("a holder hears of the deletion of its node within a moment and a round trip") {
    for (const auto family : {lock_family::turns, lock_family::fair, lock_family::shared}) {
      for (const auto held_for : {0ms, 5ms, 30ms, 1'000ms, 60'000ms}) {
        CAPTURE(static_cast<int>(family));
        CAPTURE(held_for.count());
        operated_world w{false};
        const auto mode = family == lock_family::shared ? contender_kind::read : contender_kind::lock;
        simulated_lock of_a{w.one, "/q", {family}};
        REQUIRE(w.ends(of_a.enter(1, mode), outcome::granted));
        const auto held = of_a.current(1, mode);
        w.time.run_for(held_for);
        w.remove(w.nodes()[0]);
        w.time.run_for(soon);
        CHECK(held.loss() == loss_reason::node_deleted);
      }
    }
  }

  TEST_CASE("a holder that asks for its stop token at once watches its node at once") {
    operated_world w{false};
    simulated_lock of_a{w.one, "/q", {lock_family::turns}};
    REQUIRE(w.ends(of_a.enter(1, mode), outcome::granted));
    const auto held = of_a.current(1, mode);
    held.stop_token();
    CHECK(w.one.connector().sent(operation::get) == 1);
    w.time.run_for(3ms);
    w.remove(w.nodes()[0]);
    w.time.run_for(3ms);
    CHECK(held.loss() == loss_reason::node_deleted);
    CHECK(w.one.connector().sent(operation::get) == 1);
  }

  TEST_CASE("short cycles and turns read nothing; a place that is held for longer reads once") {
    for (const auto family : {lock_family::turns, lock_family::fair}) {
      CAPTURE(static_cast<int>(family));
      operated_world w{false};
      simulated_lock of_a{w.one, "/q", {family}};
      for (int i = 0; i < 50; ++i) {
        REQUIRE(w.ends(of_a.enter(1, mode), outcome::granted));
        w.time.run_for(1ms);
        of_a.leave(1, mode);
        w.time.run_for(1ms);
      }
      CHECK(w.one.connector().sent(operation::get) == 0);
    }
    operated_world w{false};
    simulated_lock of_a{w.one, "/q", {lock_family::turns}};
    REQUIRE(w.ends(of_a.enter(1, mode), outcome::granted));
    for (std::uint64_t i = 2; i < 100; ++i) {
      const auto next = of_a.enter(i, mode);
      w.time.run_for(1ms);
      of_a.leave(i - 1, mode);
      REQUIRE(next->what == outcome::granted);
    }
    CHECK(w.one.connector().sent(operation::get) == 1);
  }

  TEST_CASE("a contended acquisition reads once more, and nothing when its turn comes") {
    operated_world w{false};
    simulated_lock other{w.two, "/q", {lock_family::turns}};
    simulated_lock of_b{w.one, "/q", {lock_family::turns}};
    REQUIRE(w.ends(other.enter(1, mode), outcome::granted));
    w.one.connector().forget_sent();
    const auto b = of_b.enter(1, mode);
    w.time.run_for(500ms);
    CHECK(w.one.connector().sent(operation::get) == 2);  // the one ahead, and its own
    CHECK(w.one.connector().sent() == 4);
    other.leave(1, mode);
    REQUIRE(w.ends(b, outcome::granted));
    w.time.run_for(500ms);
    CHECK(w.one.connector().sent() == 4);
  }

  TEST_CASE("after a reconnect deletions are heard of in another order: nobody is let in by that of the one ahead") {
    for (const auto family : {lock_family::turns, lock_family::fair}) {
      CAPTURE(static_cast<int>(family));
      operated_world w;
      simulated_lock of_a{w.two, "/q", {family}};
      simulated_lock of_b{w.one, "/q", {family}};
      simulated_lock of_d{w.three, "/q", {family}};
      REQUIRE(w.ends(of_a.enter(1, mode), outcome::granted));
      const auto b = of_b.enter(1, mode);
      REQUIRE(w.queued(2));
      const auto d = of_d.enter(1, mode);
      REQUIRE(w.queued(3));
      w.one.connector().latest()->lose_connection();
      w.one.connector().latest()->open_hole(100ms);
      w.remove(w.nodes()[1]);
      of_a.leave(1, mode);
      REQUIRE(w.ends(d, outcome::granted));
      w.time.run_for(1s);
      CHECK(w.one.connected());
      CHECK(b->what == outcome::waiting);
      of_d.leave(1, mode);
      CHECK(w.ends(b, outcome::granted));
    }
  }

  TEST_CASE("a process that is stopped before it watches its node reads it before it is let in") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      operated_world w{true, seed};
      simulated_lock of_a{w.two, "/q", {lock_family::turns}};
      simulated_lock of_b{w.one, "/q", {lock_family::turns}};
      simulated_lock of_d{w.three, "/q", {lock_family::turns}};
      REQUIRE(w.ends(of_a.enter(1, mode), outcome::granted));
      w.time.run_for(100ms);
      const auto watches = w.ensemble.watches();
      const auto b = of_b.enter(1, mode);
      REQUIRE(w.eventually([&] { return w.ensemble.watches() == watches + 1; }));  // the one ahead
      w.time.pause(w.one.process(), w.time.now() + 200ms);
      w.remove(w.nodes()[1]);
      const auto d = of_d.enter(1, mode);
      w.time.run_for(100ms);
      of_a.leave(1, mode);
      REQUIRE(w.ends(d, outcome::granted));
      w.time.run_for(1s);
      CHECK(b->what == outcome::waiting);
      of_d.leave(1, mode);
      CHECK(w.ends(b, outcome::granted));
    }
  }

  TEST_CASE(
      "a node that is beyond the budget of watched bytes is read before it is let in, and watched when there is room") {
    for (const bool room : {false, true}) {
      CAPTURE(room);
      operated_world w;
      w.time.run_for(100ms);
      const auto others = w.use_up_watches();
      simulated_lock of_a{w.two, "/q", {lock_family::turns}};
      simulated_lock of_b{w.one, "/q", {lock_family::turns}};
      simulated_lock of_d{w.three, "/q", {lock_family::turns}};
      REQUIRE(w.ends(of_a.enter(1, mode), outcome::granted));
      w.time.run_for(100ms);
      const auto watches = w.ensemble.watches();
      const auto b = of_b.enter(1, mode);
      REQUIRE(w.queued(2));
      CHECK(w.ensemble.watches() == watches + 1);  // the one ahead
      const auto d = of_d.enter(1, mode);
      REQUIRE(w.queued(3));
      if (room) {
        for (const auto& each : others) w.remove(each);
        w.time.run_for(100ms);
        w.another.leave(99, mode);  // what goes makes others look for room
        w.time.run_for(100ms);
        REQUIRE(w.ends(w.another.enter(99, mode), outcome::granted));
        w.remove(w.nodes()[1]);
        w.time.run_for(soon);
        CHECK(w.queued(3));  // it has queued again
      } else {
        w.remove(w.nodes()[1]);
      }
      w.time.run_for(1s);
      of_a.leave(1, mode);
      REQUIRE(w.ends(d, outcome::granted));
      w.time.run_for(1s);
      CHECK(b->what == outcome::waiting);
      of_d.leave(1, mode);
      CHECK(w.ends(b, outcome::granted));
    }
  }

  TEST_CASE(
      "a neighbour whose node is not watched has the lock at once, and hears of its deletion within a round trip") {
    for (const bool deleted : {false, true}) {
      CAPTURE(deleted);
      operated_world w;
      w.time.run_for(100ms);
      w.use_up_watches();
      w.time.run_for(100ms);
      simulated_lock line{w.one, "/q", {lock_family::fair}};
      REQUIRE(w.ends(line.enter(1, mode), outcome::granted));
      const auto b = line.enter(2, mode);
      REQUIRE(w.queued(2));
      w.time.run_for(1s);
      if (deleted) w.remove(w.nodes()[1]);
      w.time.run_for(1s);
      w.one.connector().forget_sent();
      line.leave(1, mode);
      REQUIRE(b->what == outcome::granted);
      CHECK(w.one.connector().sent(operation::get) == 1);
      const auto held = line.current(2, mode);
      w.time.run_for(soon);
      CHECK(static_cast<bool>(held) == !deleted);
      line.leave(2, mode);
      CHECK(w.queued(0));
    }
  }
}

}  // namespace latchkey::testing
