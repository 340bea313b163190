// SPDX-License-Identifier: Apache-2.0
/// What goes wrong for those who have a permit, or wait for one.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "support/permit_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// So many watches that no node is watched any more that need not be.
void watch_much(permit_world& w) {
  for (int i = 0; i < 600; ++i) {
    const auto path = "/watched" + std::to_string(i) + std::string(1000, 'x');
    w.ensemble.create(path);
    w.one.run([&] {
      w.one.core()->session().submit(
          {.kind = operation::get, .path = path}, [](detail::reply&) {}, [](detail::watch_event) {});
    });
  }
  w.settle();
}

}  // namespace

TEST_SUITE("permits and faults") {
  TEST_CASE("a lost reply, to whichever request it is, leaves no node and grants the permit") {
    for (const auto kind : {operation::create, operation::children, operation::get, operation::transact}) {
      for (const auto how : {trap::lost_before_effect, trap::lost_after_effect}) {
        for (int skipped = 0; skipped < 3; ++skipped) {
          CAPTURE(static_cast<int>(kind));
          CAPTURE(static_cast<int>(how));
          CAPTURE(skipped);
          permit_world w{1};
          if (skipped > 0) w.ours.leave(w.take(w.ours));
          w.settle();
          const auto held = w.take(w.theirs);
          w.one.connector().set_trap(kind, how);
          const auto call = w.ours.enter();
          if (skipped == 2) w.settle();
          w.theirs.leave(held);
          REQUIRE(w.ends(call, outcome::granted));
          CHECK(w.leases().size() == 1);
          w.ours.leave(call);
          CHECK(w.is_clean());
        }
      }
    }
  }

  TEST_CASE("a session that ends is survived by who waits, wherever it waits") {
    for (const auto after : {0us, 300us, 600us, 1000us, 2000us, 3000us, 5000us, 20000us, 1000000us}) {
      for (const bool busy : {false, true}) {
        CAPTURE(after.count());
        CAPTURE(busy);
        permit_world w{1};
        std::optional<permit_world::call> held;
        if (busy) held = w.take(w.theirs);
        const auto call = w.ours.enter();
        w.time.run_for(after);
        const bool early = call.granted();
        w.ensemble.expire(w.session(w.one));
        w.settle();
        if (busy) {
          CHECK(call.waits());
          w.theirs.leave(*held);
        }
        REQUIRE(w.ends(call, outcome::granted));
        w.time.run_for(1min);
        if (early) CHECK(call.held().loss() == loss_reason::session_expired);
        w.ours.leave(call);
        CHECK(w.is_clean());
      }
    }
  }

  TEST_CASE("the permits of one guard are lost together, and no others") {
    permit_world w{4};
    const auto two = w.take(w.ours, 2);
    const auto one = w.take(w.ours);
    const auto remote = w.take(w.theirs);
    w.settle();
    REQUIRE(w.leases().size() == 4);
    for (const auto& name : w.leases()) {
      const auto path = "/s/leases/" + name;
      const bool ours = w.ensemble.owner(path) == w.session(w.one);
      if (ours && path != w.lease(one) && path != w.lease(two)) w.ensemble.remove(path);
    }
    w.settle();
    CHECK(two.held().loss() == loss_reason::node_deleted);
    CHECK(one.held());
    CHECK(remote.held());
    CHECK(w.leases().size() == 2);
    w.ours.leave(two);
    w.ours.leave(one);
    w.theirs.leave(remote);
    CHECK(w.is_clean());
  }

  TEST_CASE("who waits with a lease or a turn that an operator deletes is granted all the same") {
    for (const auto& [folder, watched] : {std::pair{"/s/leases", true}, {"/s/locks", true}, {"/s/leases", false}}) {
      CAPTURE(folder);
      CAPTURE(watched);
      permit_world w{1};
      if (!watched) watch_much(w);
      const auto held = w.take(w.theirs);
      w.ours.leave([&] {
        w.theirs.leave(held);
        return w.take(w.ours);
      }());
      const auto again = w.take(w.theirs);
      const auto call = w.ours.enter();
      w.settle();
      const auto mine = [&w, folder = std::string{folder}] {
        for (const auto& name : w.ensemble.children(folder)) {
          const auto path = folder + "/" + name;
          if (w.ensemble.owner(path) == w.session(w.one)) return path;
        }
        return std::string{};
      };
      REQUIRE_FALSE(mine().empty());
      w.ensemble.remove(mine());
      CHECK(w.eventually([&] { return !mine().empty(); }));
      CHECK(call.waits());
      w.theirs.leave(again);
      REQUIRE(w.ends(call, outcome::granted));
      w.ours.leave(call);
      CHECK(w.is_clean());
    }
  }

  TEST_CASE("an operator who deletes everything takes all permits, and nobody is granted too many") {
    permit_world w{1};
    const auto held = w.take(w.theirs);
    const auto call = w.ours.enter();
    w.settle();
    for (const auto* folder : {"/s/leases", "/s/locks"}) {
      for (const auto& name : w.ensemble.children(folder)) w.ensemble.remove(std::string{folder} + "/" + name);
      w.ensemble.remove(folder);
    }
    w.ensemble.remove("/s");
    REQUIRE(w.ends(call, outcome::granted));
    w.settle();
    CHECK(held.held().loss() == loss_reason::node_deleted);
    CHECK(w.leases().size() == 1);
    CHECK(w.record() == detail::permits_agreement.record(1));
    w.theirs.leave(held);
    w.ours.leave(call);
    CHECK(w.is_clean());
  }

  TEST_CASE("a call that is cancelled, or whose time is over, leaves nothing, wherever it waits") {
    for (const auto after : {0us, 200us, 400us, 800us, 1500us, 3000us, 1000000us}) {
      for (const bool busy : {false, true}) {
        CAPTURE(after.count());
        CAPTURE(busy);
        permit_world w{2};
        std::optional<permit_world::call> held;
        if (busy) held = w.take(w.theirs, 2);
        const auto cancelled = w.ours.enter();
        const auto timed = w.ours.enter(2, detail::end_of_call(after, w.time.now()));
        w.time.run_for(after);
        w.ours.cancel(cancelled);
        w.settle();
        for (const auto& each : {cancelled, timed}) {
          CHECK_FALSE(each.waits());
          if (each.granted()) w.ours.leave(each);
        }
        if (held) w.theirs.leave(*held);
        CHECK(w.is_clean());
      }
    }
  }

  TEST_CASE("closing ends the wait, and the permits") {
    permit_world w{1};
    const auto held = w.take(w.ours);
    const auto waiting = w.theirs.enter();
    const auto local = w.ours.enter();
    w.settle();
    w.one.close();
    REQUIRE(w.eventually([&] { return w.one.closed(); }));
    CHECK(held.held().loss() == loss_reason::client_closed);
    CHECK(local.failed_with(errc::closed));
    CHECK_THROWS_AS(w.ours.enter(), error);
    REQUIRE(w.ends(waiting, outcome::granted));
    w.ours.leave(held);
    w.two.close();
    CHECK(w.eventually([&] { return w.two.closed(); }));
    CHECK(w.leases().empty());
    CHECK(w.locks().empty());
  }

  TEST_CASE("the destructor gives back what is held, and fails who waits") {
    permit_world w{1};
    const auto held = w.take(w.ours);
    const auto local = w.ours.enter();
    const auto remote = w.theirs.enter();
    w.settle();
    w.ours.shut();
    CHECK(local.failed_with(errc::lock_destroyed));
    CHECK_FALSE(held.held());
    REQUIRE(w.ends(remote, outcome::granted));
    w.ours.leave(held);  // of a guard that outlives it
    w.theirs.leave(remote);
    CHECK(w.is_clean());
  }

  TEST_CASE("a try without a connection is refused, also one that loses it") {
    for (const auto after : {0us, 300us, 1000us, 2000us}) {
      CAPTURE(after.count());
      permit_world w{1};
      w.ours.leave(w.take(w.ours));
      w.settle();
      const auto call = w.ours.enter_once();
      w.time.run_for(after);
      w.one.connector().latest()->lose_connection();
      REQUIRE(w.eventually([&] { return !call.waits(); }));
      if (call.granted()) w.ours.leave(call);
      CHECK(w.is_clean());
    }
  }

  TEST_CASE("leases that may not be deleted are told as such, once they take all permits") {
    permit_world w{2};
    w.ours.leave(w.take(w.ours));
    w.settle();
    w.ensemble.forbid(operation::remove, "/s/leases");
    w.ours.leave(w.take(w.ours));
    w.settle();
    w.ours.leave(w.take(w.ours));
    w.settle();
    REQUIRE(w.leases().size() == 2);
    const auto call = w.ours.enter();
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(call.failed_with(errc::not_authorized));
    w.ensemble.allow_everything();
    w.settle();
    const auto now = w.ours.enter();
    w.settle();
    CHECK(now.granted());
  }

  TEST_CASE("who has waited long behind a turn, or a lease, that a server shows though it has gone is let in") {
    for (const bool turn : {false, true}) {
      CAPTURE(turn);
      permit_world w{1};
      w.ours.leave(w.take(w.ours));
      const auto held = w.take(w.theirs);
      simulated_client third{w.ensemble};
      REQUIRE(third.connect());
      simulated_semaphore other{third, 1};
      const auto before = turn ? std::optional{other.enter()} : std::nullopt;
      w.settle();
      const auto call = w.ours.enter();
      w.settle();
      auto ghost = w.lease(held);
      if (turn) {  // the other's, which came first
        const auto turns = w.locks();
        ghost = "/s/locks/" + *std::min_element(turns.begin(), turns.end(), [](const auto& a, const auto& b) {
                  return detail::parse_contender(a)->number < detail::parse_contender(b)->number;
                });
      }
      w.lose_removal(ghost);
      if (before) other.cancel(*before);
      w.theirs.leave(held);
      w.time.run_for(20s);
      CHECK(call.waits());
      REQUIRE(w.ends(call, outcome::granted));
      w.ours.leave(call);
      CHECK(w.is_clean());
    }
  }

  TEST_CASE("a client that may not write the number, or not create nodes, is told") {
    for (const auto kind : {operation::set, operation::create}) {
      CAPTURE(static_cast<int>(kind));
      permit_world w{1};
      w.ensemble.create("/s");
      w.ensemble.create("/s/locks");
      w.ensemble.create("/s/leases");
      for (const auto* path : {"/s", "/s/locks", "/s/leases"}) w.ensemble.forbid(kind, path);
      const auto call = w.ours.enter();
      REQUIRE(w.ends(call, outcome::failed));
      CHECK(call.failed_with(errc::not_authorized));
      CHECK(call.waiter->why->path == "/s");
      CHECK(w.is_clean());
    }
  }
}

}  // namespace latchkey::testing
