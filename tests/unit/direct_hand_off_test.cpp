// SPDX-License-Identifier: Apache-2.0
/// A release that is told by datagram.

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include <latchkey/sequencer.hpp>

#include "queue/fenced_commit.hpp"
#include "support/direct_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

}  // namespace

TEST_SUITE("direct hand-off") {
  TEST_CASE("the next in line is granted before the ensemble deletes the node, and holds it alone") {
    for (const auto& settings : {fair, turns}) {
      direct_world w{settings};
      const auto first = w.take(*w.ann);
      const auto node = w.node(*w.ann);
      const auto ben = w.queue(*w.ben);
      w.ann->leave(1, mode);
      w.one.connector().cut();
      REQUIRE(w.ends(ben, 10ms));
      CHECK(w.ensemble.exists(node));
      CHECK_FALSE(first);
      CHECK(w.ben->current(1, mode).fence() > first.fence());
      w.one.connector().heal();
      w.ben->leave(1, mode);
      CHECK(w.eventually([&] { return w.ensemble.children("/q").empty(); }));
      for (auto* each : {&w.one, &w.two}) CHECK(w.eventually([&] { return each->unfinished().empty(); }));
    }
  }

  TEST_CASE("direct hand-off costs no extra request, and no list if several were ahead") {
    std::uint64_t sent[2]{};
    for (const auto how : {hand_off::ensemble, hand_off::direct}) {
      direct_world w{{.family = lock_family::fair, .how = how}};
      w.take(*w.ann);
      const auto ben = w.queue(*w.ben);
      const auto cay = w.queue(*w.cay);
      for (auto* each : {&w.one, &w.two, &w.three}) each->connector().forget_sent();
      w.ann->leave(1, mode);
      REQUIRE(w.ends(ben));
      w.time.run_for(10ms);
      w.ben->leave(1, mode);
      REQUIRE(w.ends(cay));
      w.cay->leave(1, mode);
      w.time.run_for(100ms);
      for (auto* each : {&w.one, &w.two, &w.three}) sent[how != hand_off::ensemble] += each->connector().sent();
      if (how == hand_off::direct) CHECK(w.three.connector().sent(operation::children) == 0);
    }
    CHECK(sent[1] <= sent[0]);
  }

  TEST_CASE("direct_then_sync grants after one write of a quorum") {
    direct_world w{{.family = lock_family::fair, .how = hand_off::direct_then_sync}};
    w.take(*w.ann);
    const auto ben = w.queue(*w.ben);
    w.two.connector().forget_sent();
    w.ann->leave(1, mode);
    w.one.connector().cut();
    REQUIRE(w.ends(ben, 50ms));
    CHECK(w.two.connector().sent(request_kind::check) == 1);
    w.one.connector().heal();
    w.ben->leave(1, mode);
  }

  TEST_CASE("a grant whose sequencer has been given out is handed off by the ensemble") {
    for (const auto& settings : {fair, turns}) {
      direct_world w{settings};
      const auto held = w.take(*w.ann);
      sequencer_of(held);
      const auto ben = w.queue(*w.ben);
      w.one.connector().cut();
      w.ann->leave(1, mode);
      CHECK_FALSE(w.ends(ben, 100ms));
      w.one.connector().heal();
      CHECK(w.ends(ben));
      w.ben->leave(1, mode);
    }
  }

  TEST_CASE("while that node exists, the ensemble hands off later grants of the same client, too") {
    direct_world w{fair};
    sequencer_of(w.take(*w.ann));
    const auto first = w.node(*w.ann);
    const auto second = w.ann->enter(2, mode);
    CHECK(w.eventually([&] { return w.ensemble.children("/q").size() == 2; }));
    const auto ben = w.queue(*w.ben);
    w.one.connector().cut();
    w.ann->leave(1, mode);
    REQUIRE(w.ends(second, 10ms));
    w.ann->leave(2, mode);
    CHECK_FALSE(w.ends(ben, 100ms));
    CHECK(w.ensemble.exists(first));
    w.one.connector().heal();
    CHECK(w.ends(ben));
    CHECK_FALSE(w.ensemble.exists(first));
    w.ben->leave(1, mode);
  }

  TEST_CASE("a later turn of an entry is handed off by the ensemble, too, if an earlier one gave out a sequencer") {
    for (const bool gives_out : {false, true}) {
      direct_world w{turns};
      const auto first = w.take(*w.ann);
      if (gives_out) sequencer_of(first);
      const auto second = w.ann->enter(2, mode);
      const auto ben = w.queue(*w.ben);
      w.ann->leave(1, mode);
      REQUIRE(w.ends(second));
      w.one.connector().cut();
      w.ann->leave(2, mode);
      CHECK(w.ends(ben, 100ms) != gives_out);
      w.one.connector().heal();
      CHECK(w.ends(ben));
      w.ben->leave(1, mode);
      w.take(*w.ann);  // a new entry
      const auto again = w.queue(*w.ben);
      w.one.connector().cut();
      w.ann->leave(1, mode);
      CHECK(w.ends(again, 100ms));
      w.one.connector().heal();
      w.ben->leave(1, mode);
    }
  }

  TEST_CASE(
      "an entry of another object is, while a place that was kept for a moment is being deleted, if that is bound") {
    for (const bool gives_out : {false, true}) {
      CAPTURE(gives_out);
      direct_world w{fair};
      simulated_lock other{w.one, "/q", fair};
      for (int i = 0; i < 4; ++i) {  // its callers come back at once
        REQUIRE(w.ends(w.ann->enter(1, mode)));
        if (i != 3) w.ann->leave(1, mode);
      }
      w.time.run_for(100ms);
      if (gives_out) sequencer_of(w.ann->current(1, mode));
      auto& plan = w.ensemble.plan();
      plan.network = plan.consensus = plan.lag = {1us, 1us};  // the next place is there before the deletion is sent
      w.one.connector().set_trap(operation::remove, trap::stuck);
      w.ann->leave(1, mode);
      REQUIRE(w.ends(other.enter(1, mode), 100ms));  // its list still shows that place
      const auto ben = w.ben->enter(1, mode);
      w.time.run_for(100ms);
      CHECK(ben->what == outcome::waiting);
      w.one.connector().cut();
      other.leave(1, mode);
      CHECK(w.ends(ben, 100ms) != gives_out);
      w.one.connector().heal();
      CHECK(w.ends(ben));
      w.ben->leave(1, mode);
      other.shut();
    }
  }

  TEST_CASE("a grant whose place is kept for a moment is handed off directly unless it gave out a sequencer") {
    for (const auto& settings : {fair, turns}) {
      for (const bool gives_out : {false, true}) {
        CAPTURE(gives_out);
        direct_world w{settings};
        for (int i = 0; i < 4; ++i) {
          REQUIRE(w.ends(w.ann->enter(1, mode)));
          if (i != 3) w.ann->leave(1, mode);
        }
        w.time.run_for(100ms);
        const auto node = w.node(*w.ann);
        if (gives_out) sequencer_of(w.ann->current(1, mode));
        const auto ben = w.queue(*w.ben);
        w.ann->leave(1, mode);
        if (gives_out) {
          REQUIRE(w.ends(ben));
          CHECK_FALSE(w.ensemble.exists(node));  // the ensemble has told
        } else {
          w.one.connector().cut();
          REQUIRE(w.ends(ben, 10ms));
          w.one.connector().heal();
        }
        w.ben->leave(1, mode);
      }
    }
  }

  TEST_CASE("a place whose release has been told is kept for longer: no contender waits for its deletion") {
    for (const auto& settings : {fair, turns}) {
      for (const bool contended : {false, true}) {
        CAPTURE(contended);
        direct_world w{settings};
        for (int i = 0; i < 4; ++i) {
          REQUIRE(w.ends(w.ann->enter(1, mode)));
          if (i != 3) w.ann->leave(1, mode);
        }
        w.time.run_for(100ms);
        const auto ben = contended ? w.queue(*w.ben) : nullptr;
        w.one.connector().forget_sent();
        const auto kept = contended ? detail::reaper::patience_if_told : detail::reaper::patience;
        w.ann->leave(1, mode);
        w.time.run_for(kept - 1us);
        CHECK(w.one.connector().sent(operation::remove) == 0);
        w.time.run_for(1us);
        CHECK(w.one.connector().sent(operation::remove) == 1);
        if (ben) w.ben->leave(1, mode);
      }
    }
  }

  TEST_CASE("a grant is handed off directly only after its transaction has been answered") {
    for (const std::string answer : {"none", "lost", "there"}) {
      CAPTURE(answer);
      direct_world w{fair};
      const auto held = w.take(*w.ann);
      const auto ben = w.queue(*w.ben);
      w.ensemble.create("/data", "old");
      if (answer == "none") w.one.connector().cut();
      if (answer == "lost") w.one.connector().set_trap(operation::transact, trap::lost_before_effect);
      w.one.run([&] {
        const auto begun = std::make_shared<detail::fenced_commit>(
            detail::grant_state::of(held),
            detail::fenced_steps{.steps = {{.what = detail::step::operation::set, .path = "/data", .data = "new"}}});
        begun->start(w.time.now() + 1min);
      });
      w.time.run_for(50ms);
      if (answer == "lost") {
        REQUIRE(w.eventually([&] { return w.one.connected(); }));
        w.time.run_for(50ms);
      }
      w.one.connector().cut();
      w.ann->leave(1, mode);
      CHECK(w.ends(ben, 100ms) == (answer == "there"));
      w.one.connector().heal();
      CHECK(w.ends(ben));
      w.ben->leave(1, mode);
    }
  }

  TEST_CASE("a grant that reaches max_hold is handed off by the ensemble") {
    for (auto settings : {fair, turns}) {
      settings.max_hold = 1s;
      direct_world w{settings};
      w.take(*w.ann);
      const auto ben = w.queue(*w.ben);
      w.one.connector().cut();
      CHECK_FALSE(w.ends(ben, 1500ms));
      w.one.connector().heal();
      CHECK(w.ends(ben));
      w.ann->leave(1, mode);
      w.ben->leave(1, mode);
    }
  }

  TEST_CASE("a waiter that leaves tells nobody") {
    direct_world w{fair};
    w.take(*w.ann);
    const auto ben = w.queue(*w.ben);
    const auto cay = w.queue(*w.cay);
    w.ben->cancel(ben, mode);
    CHECK_FALSE(w.ends(cay, 1s));
    w.ann->leave(1, mode);
    w.one.connector().cut();
    CHECK(w.ends(cay, 10ms));
    w.one.connector().heal();
    w.cay->leave(1, mode);
  }

  TEST_CASE("direct hand-off needs both sides, and only the creator's record counts") {
    const lock_settings by_ensemble{.family = lock_family::fair};
    for (const int which : {0, 1, 2}) {
      CAPTURE(which);
      direct_world w{which == 0 ? by_ensemble : fair, which == 1 ? by_ensemble : fair};
      w.take(*w.ann);
      const auto node = w.node(*w.ann);
      if (which == 2) w.ensemble.change(node, std::string{w.ensemble.data(node)});
      CHECK((w.ensemble.data(node).find("\"peer\"") != std::string::npos) == (which != 0));
      const auto ben = w.queue(*w.ben);
      w.one.connector().cut();
      w.ann->leave(1, mode);
      CHECK_FALSE(w.ends(ben, 100ms));
      w.one.connector().heal();
      CHECK(w.ends(ben));
      w.ben->leave(1, mode);
    }
  }

  TEST_CASE("only the next waiter keeps its lease fresh, however long the holder takes") {
    direct_world w{fair};
    w.take(*w.ann);
    const auto ben = w.queue(*w.ben);
    const auto cay = w.queue(*w.cay);
    const auto fresh = [](simulated_client& of) { return of.core()->lease_keeper().fresh(); };
    const auto proofs = [](simulated_client& of) { return of.connector().sent(request_kind::check); };
    const auto minute = [&](simulated_client& next) {
      next.connector().forget_sent();
      for (int i = 0; i < 600; ++i) {
        w.time.run_for(100ms);
        CHECK(fresh(next));
      }
      CHECK(proofs(next) >= 50);  // T/4 apart
      CHECK(proofs(next) <= 70);
    };
    minute(w.two);
    CHECK(proofs(w.three) < 10);
    w.ann->leave(1, mode);
    REQUIRE(w.ends(ben, 10ms));
    w.time.run_for(1s);  // the next one has heard of the grant
    minute(w.three);
    w.ben->leave(1, mode);
    REQUIRE(w.ends(cay, 10ms));
    w.cay->leave(1, mode);
  }

  TEST_CASE("a next waiter that has given up sends no proofs") {
    direct_world w{fair};
    w.take(*w.ann);
    const auto ben = w.queue(*w.ben);
    w.ben->cancel(ben, mode);
    w.time.run_for(1s);
    w.two.connector().forget_sent();
    w.time.run_for(1min);
    CHECK(w.two.connector().sent(request_kind::check) == 0);
  }
}

}  // namespace latchkey::testing
