// SPDX-License-Identifier: Apache-2.0
/// Neighbours of one line, over a parent that is deleted and created again.

#include <doctest/doctest.h>

#include "support/operated_world.hpp"

namespace latchkey::testing {
TEST_SUITE("line and parent") {
  TEST_CASE("the path is deleted and taken by others: who follows on our stale number waits for them") {
    operated_world w;
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    REQUIRE(w.ends(line.enter(1, mode), outcome::granted));
    w.time.run_for(soon);
    const auto held = line.current(1, mode);
    w.remove_path();
    const auto taken = w.take_over();
    const auto d = line.enter(2, mode);
    w.time.run_for(soon);
    CHECK(held.loss() == loss_reason::node_deleted);
    line.leave(1, mode);
    w.time.run_for(1s);
    CHECK(d->what == outcome::waiting);
    w.remove(taken);
    CHECK(w.ends(d, outcome::granted));
  }

  TEST_CASE("the same before our node is watched: who comes then does not follow on its number") {
    for (const bool leaves : {false, true}) {
      CAPTURE(leaves);
      operated_world w;
      simulated_lock line{w.one, "/q", {lock_family::fair}};
      REQUIRE(w.ends(line.enter(1, mode), outcome::granted));
      w.remove_path();
      const auto taken = w.take_over();
      const auto d = line.enter(2, mode);
      const auto e = line.enter(3, mode);
      REQUIRE(w.eventually([&] { return w.nodes().size() == 3; }));
      w.time.run_for(2ms);
      if (leaves) line.leave(1, mode);
      w.time.run_for(1s);
      if (!leaves) line.leave(1, mode);
      CHECK(d->what == outcome::waiting);
      w.remove(taken);
      REQUIRE(w.ends(d, outcome::granted));
      CHECK(e->what == outcome::waiting);
      line.leave(2, mode);
      CHECK(w.ends(e, outcome::granted));
    }
  }

  TEST_CASE("the parent of a line is watched: with it go all nodes, before their own watches are set") {
    operated_world w;
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    REQUIRE(w.ends(line.enter(1, mode), outcome::granted));
    const auto b = line.enter(2, mode);
    REQUIRE(w.queued(2));
    w.time.run_for(1ms);
    line.leave(1, mode);
    REQUIRE(b->what == outcome::granted);
    const auto c = line.enter(3, mode);
    REQUIRE(w.queued(2));
    const auto held = line.current(2, mode);
    w.remove_path();
    const auto taken = w.take_over();
    w.time.run_for(3ms);
    CHECK(held.loss() == loss_reason::node_deleted);
    CHECK(w.queued(2));  // the one of others, and the third, which has queued again
    line.leave(2, mode);
    const auto d = line.enter(4, mode);
    w.time.run_for(1s);
    CHECK(c->what == outcome::waiting);
    w.remove(taken);
    REQUIRE(w.ends(c, outcome::granted));
    line.leave(3, mode);
    CHECK(w.ends(d, outcome::granted));
  }

  TEST_CASE("the watch on the parent goes with its session: numbers are not compared under the next without another") {
    operated_world w;
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    REQUIRE(w.ends(line.enter(1, mode), outcome::granted));
    const auto before = line.enter(2, mode);
    REQUIRE(w.queued(2));
    line.leave(1, mode);
    REQUIRE(w.ends(before, outcome::granted));
    line.leave(2, mode);
    REQUIRE(w.queued(0));
    w.ensemble.expire(w.session(w.one));
    w.time.run_for(1s);
    REQUIRE(w.one.connect());
    REQUIRE(w.ends(line.enter(1, mode), outcome::granted));
    const auto number = detail::parse_contender(detail::last_component(w.nodes()[0]))->number;
    w.remove_path();
    const auto taken = w.take_over();
    w.ensemble.set_counter("/q", static_cast<int>(number) + 1);
    const auto held = line.current(1, mode);
    w.time.run_for(1ms);  // the server shows the new node
    const auto d = line.enter(2, mode);
    REQUIRE(w.eventually([&] { return w.nodes().size() == 2; }));
    w.time.run_for(2ms);
    REQUIRE(held);
    line.leave(1, mode);
    w.time.run_for(1s);
    CHECK(d->what == outcome::waiting);
    w.remove(taken);
    CHECK(w.ends(d, outcome::granted));
  }

  TEST_CASE("the same, and the stale one stays: the one behind looks for itself") {
    operated_world w;
    simulated_lock line{w.one, "/q", {lock_family::fair}};
    REQUIRE(w.ends(line.enter(1, mode), outcome::granted));
    const auto held = line.current(1, mode);
    w.remove_path();
    const auto taken = w.take_over();
    const auto d = line.enter(2, mode);
    w.time.run_for(soon);
    CHECK(held.loss() == loss_reason::node_deleted);
    line.leave(1, mode);
    w.time.run_for(1s);
    CHECK(d->what == outcome::waiting);
    w.remove(taken);
    CHECK(w.ends(d, outcome::granted));
  }
}

}  // namespace latchkey::testing
