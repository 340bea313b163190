// SPDX-License-Identifier: Apache-2.0
/// The node ahead is not watched while its release is expected by datagram.

#include <doctest/doctest.h>

#include <string>

#include <latchkey/sequencer.hpp>

#include "support/direct_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// A fast ensemble. Ben has been told by Ann within 10 ms, and nobody is in the queue.
struct quick_world : direct_world {
  explicit quick_world(lock_settings of = fair) : direct_world{of} {
    ensemble.plan().network = ensemble.plan().consensus = ensemble.plan().lag = {100us, 100us};
    network.plan().delay = {20us, 20us};
    hand_over(3ms);
    time.run_for(1s);
    REQUIRE(ensemble.children("/q").empty());
    two.connector().forget_sent();
  }
  std::uint64_t reads() { return two.connector().sent(operation::get); }
  /// Ann holds, and Ben has queued behind her `before` now. @returns the call of Ben
  simulated_lock::call wait_behind_ann(duration before = 3ms) {
    REQUIRE(ends(ann->enter(1, mode)));
    auto call = ben->enter(1, mode);
    time.run_for(before);
    CHECK(call->what == outcome::waiting);
    return call;
  }
  /// The same, and Ann leaves.
  simulated_lock::call queue_behind_ann(duration held) {
    auto call = wait_behind_ann(held);
    ann->leave(1, mode);
    return call;
  }
  /// Ben has been let in by Ann, who is cut off before she deletes her node. @returns that node
  std::string follow_a_dead_holder() {
    const auto call = wait_behind_ann();
    const auto node = this->node(*ann);
    ann->leave(1, mode);
    one.connector().cut();
    REQUIRE(ends(call, 2ms));
    CHECK(reads() == 0);
    return node;
  }
  void hand_over(duration held) {
    REQUIRE(ends(queue_behind_ann(held)));
    ben->leave(1, mode);
  }
};

}  // namespace

TEST_SUITE("direct hand-off") {
  TEST_CASE("a waiter that expects the release does not watch for the first 10 ms") {
    quick_world w;
    const auto ben = w.wait_behind_ann(9ms);
    CHECK(w.reads() == 0);
    w.ann->leave(1, mode);
    CHECK(w.ends(ben, 2ms));
    CHECK(w.reads() == 0);
    w.ben->leave(1, mode);
  }

  TEST_CASE("a waiter that is not told within 10 ms watches then, and at once the next 16 times") {
    quick_world w;
    const auto ben = w.wait_behind_ann(15ms);
    CHECK(w.reads() == 2);  // that ahead, and its own
    w.ann->leave(1, mode);
    REQUIRE(w.ends(ben, 2ms));
    w.ben->leave(1, mode);
    w.time.run_for(1s);
    CHECK(w.reads() == 2);  // the watch tells when the one ahead has gone
    for (int i = 0; i < 17; ++i) {
      w.two.connector().forget_sent();
      w.hand_over(5ms);
      CHECK(w.reads() == (i < 16 ? 1 : 0));
      w.time.run_for(1s);
    }
  }

  TEST_CASE("a lost message costs what is left of the 10 ms, once") {
    quick_world w;
    w.network.plan().lost = 1;
    for (const auto within : {12ms, 2ms}) {
      const auto ben = w.queue_behind_ann(3ms);
      CHECK(w.ends(ben, within));
      w.ben->leave(1, mode);
      w.time.run_for(1s);
    }
  }

  TEST_CASE("a holder that dies, and a node that an operator deletes, are noticed as with a watch from the beginning") {
    for (const bool deleted : {false, true}) {
      CAPTURE(deleted);
      quick_world w;
      const auto ben = w.wait_behind_ann();
      const auto node = w.node(*w.ann);
      if (deleted) {
        w.ensemble.remove(node);
      } else {
        w.one.connector().cut();
      }
      CHECK(w.ends(ben, deleted ? 12ms : w.one.session_timeout() + 2s));
      w.one.connector().heal();
      w.ben->leave(1, mode);
      w.ann->leave(1, mode);
    }
  }

  TEST_CASE("a holder that was let in without a watch deletes the node of one that dies before it does so") {
    quick_world w;
    const auto node = w.follow_a_dead_holder();
    w.ben->leave(1, mode);
    CHECK(w.ensemble.exists(node));
    CHECK(w.eventually([&] { return !w.ensemble.exists(node); }, w.two.session_timeout() / 8 + 10ms));
    w.one.connector().heal();
  }

  TEST_CASE("without a watch, a read tells whether the holder has deleted its node; a list before it does so, too") {
    quick_world w;
    w.hand_over(3ms);
    w.time.run_for(1s);
    CHECK(w.reads() == 1);
    CHECK(w.two.connector().sent(operation::remove) == 1);  // its own
    w.two.connector().forget_sent();
    for (int i = 0; i < 20; ++i) w.hand_over(3ms);
    w.time.run_for(1s);
    CHECK(w.reads() == 1);  // of the last
  }

  TEST_CASE("a holder that tells nobody is not expected to") {
    quick_world w;
    for (const auto within : {12ms, 3ms, 3ms}) {
      REQUIRE(w.ends(w.ann->enter(1, mode)));
      sequencer_of(w.ann->current(1, mode));
      const auto ben = w.ben->enter(1, mode);
      w.time.run_for(3ms);
      w.ann->leave(1, mode);
      CHECK(w.ends(ben, within));
      w.ben->leave(1, mode);
      w.time.run_for(1s);
    }
  }

  TEST_CASE("a waiter that cannot ask a quorum is granted the lock when the node ahead has gone") {
    quick_world w{{.family = lock_family::fair, .how = hand_off::direct_then_sync}};
    const auto ben = w.wait_behind_ann();
    w.ensemble.forbid(request_kind::check, w.last_node());
    w.one.connector().cut();
    w.ann->leave(1, mode);
    CHECK_FALSE(w.ends(ben, 100ms));
    w.one.connector().heal();
    CHECK(w.ends(ben));
    w.ben->leave(1, mode);
  }

  TEST_CASE("a release that comes during an outage is not forgotten without a watch") {
    for (const auto after : {2ms, 30ms}) {
      quick_world w;
      const auto ben = w.wait_behind_ann();
      w.two.connector().cut();
      w.two.connector().latest()->lose_connection();
      w.time.run_for(after);
      w.ann->leave(1, mode);
      w.time.run_for(1s);
      CHECK(ben->what == outcome::waiting);
      w.two.connector().heal();
      CHECK(w.ends(ben));
      w.ben->leave(1, mode);
    }
  }

  TEST_CASE("without a connection no watch is asked for: a list follows the reconnect") {
    quick_world w;
    const auto ben = w.wait_behind_ann();
    w.two.connector().cut();
    w.two.connector().latest()->lose_connection();
    w.time.run_for(100ms);
    CHECK(w.reads() == 0);
    CHECK_FALSE(w.two.connected());
    w.two.connector().forget_sent();
    w.two.connector().heal();
    REQUIRE(w.eventually([&] { return w.two.connected(); }));
    w.time.run_for(100ms);
    CHECK(w.two.connector().sent(operation::children) == 1);
    w.ann->leave(1, mode);
    CHECK(w.ends(ben, 10ms));
    w.ben->leave(1, mode);
  }

  TEST_CASE("a client that closes deletes the node of a dead holder first") {
    quick_world w;
    const auto node = w.follow_a_dead_holder();
    w.ben->leave(1, mode);
    CHECK(w.ensemble.exists(node));
    w.two.close();
    w.time.run_for(10ms);
    CHECK_FALSE(w.ensemble.exists(node));
    w.one.connector().heal();
  }

  TEST_CASE("the node of a dead holder is deleted though the next one is cut off meanwhile") {
    quick_world w;
    const auto node = w.follow_a_dead_holder();
    w.time.run_for(300ms);
    w.two.connector().cut();
    w.two.connector().latest()->lose_connection();
    w.time.run_for(w.two.session_timeout() / 8);
    w.two.connector().heal();
    CHECK(w.ensemble.exists(node));
    CHECK(w.eventually([&] { return !w.ensemble.exists(node); }, 2s));
    w.one.connector().heal();
    w.ben->leave(1, mode);
  }

  TEST_CASE("a waiter that does not expect the release watches the node ahead once") {
    direct_world w{fair};
    w.take(*w.ann);
    w.two.connector().forget_sent();
    const auto ben = w.queue(*w.ben);
    CHECK(w.two.connector().sent(operation::get) == 2);  // that ahead, and its own
    w.ann->leave(1, mode);
    REQUIRE(w.ends(ben));
    w.ben->leave(1, mode);
  }

  TEST_CASE("a waiter that the ensemble grants the lock asks the one ahead no more") {
    quick_world w;
    REQUIRE(w.ends(w.ann->enter(1, mode)));
    sequencer_of(w.ann->current(1, mode));
    const auto ben = w.ben->enter(1, mode);
    w.time.run_for(100ms);
    w.ann->leave(1, mode);
    REQUIRE(w.ends(ben));
    w.time.run_for(1s);
    const auto before = w.network.delivered();
    w.time.run_for(1min);
    CHECK(w.network.delivered() == before);
    w.ben->leave(1, mode);
  }

  TEST_CASE("a waiter that leaves before it watches leaves nothing behind") {
    quick_world w;
    const auto ben = w.wait_behind_ann();
    w.ben->cancel(ben, mode);
    w.time.run_for(1s);
    CHECK(w.reads() == 0);
    CHECK(w.two.core()->session().watched_paths().empty());
    w.ann->leave(1, mode);
  }
}

}  // namespace latchkey::testing
