// SPDX-License-Identifier: Apache-2.0
/// Deletions that are gathered, and what their owners make of nodes that are about to go.

#include <doctest/doctest.h>

#include <deque>
#include <set>
#include <string>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t alone = 1;  // of a row of neighbours who leave, only the first goes for itself

/// Twenty places of one client in one queue.
struct many_places : calm_world {
  simulated_lock lock{one, "/q", {lock_family::fair}};
  std::vector<simulated_lock::place> places;

  many_places() {
    for (std::uint64_t fiber = 1; fiber <= 20; ++fiber) {
      places.push_back(lock.make_place());
      lock.queue(places.back(), fiber);
    }
    REQUIRE(queued(20));
    one.connector().forget_sent();
  }

  /// All at once: no answer comes meanwhile.
  void give_up() {
    for (const auto& each : places) each->cancel();
  }
  bool all_is_done() {
    return eventually([&] { return ensemble.children("/q").empty() && one.unfinished().empty(); });
  }
};

/// Two locks of one client, of which the second is released while the deletion of the first is under way.
struct released_behind_another : calm_world {
  simulated_lock first{one, "/r", {lock_family::turns}};
  simulated_lock lock{one, "/q", {lock_family::turns}};

  released_behind_another() {
    one.core()->reaper().gather_beyond(1);
    for (auto* const each : {&first, &lock}) {
      REQUIRE(ends(each->enter(1, contender_kind::lock), outcome::granted));
    }
    time.run_for(100ms);
    one.connector().forget_sent();
  }
  void release() {
    first.leave(1, contender_kind::lock);
    lock.leave(1, contender_kind::lock);
    REQUIRE(one.connector().sent() == 1);
  }
};

}  // namespace

TEST_SUITE("reaper") {
  TEST_CASE("a few deletions are sent at once, those that come meanwhile go in one transaction") {
    calm_world w;
    std::deque<simulated_lock> locks;
    for (int i = 0; i < 20; ++i) {
      locks.emplace_back(w.one, "/of-" + std::to_string(i), lock_settings{.family = lock_family::turns});
      REQUIRE(w.ends(locks.back().enter(1, contender_kind::lock), outcome::granted));
    }
    w.one.connector().forget_sent();
    for (auto& each : locks) each.leave(1, contender_kind::lock);
    CHECK(w.one.connector().sent(operation::remove) == 8);
    REQUIRE(w.eventually([&] { return w.one.unfinished().empty(); }));
    CHECK(w.one.connector().sent(operation::remove) == 8);
    CHECK(w.one.connector().sent(request_kind::remove_all) == 1);
    for (int i = 0; i < 20; ++i) CHECK(w.ensemble.children("/of-" + std::to_string(i)).empty());
  }

  TEST_CASE("neighbours who leave go together, with the last of them, for whom somebody else may wait") {
    many_places w;
    simulated_lock outside{w.two, "/q", {lock_family::turns}};
    const auto next = outside.enter(1, contender_kind::lock);
    REQUIRE(w.queued(21));
    w.two.connector().forget_sent();
    for (const auto& each : w.places) {
      each->cancel();
      CHECK(w.one.connector().sent(operation::remove) == alone);
      CHECK(w.one.connector().sent(request_kind::remove_all) == (each == w.places.back() ? 1 : 0));
    }
    REQUIRE(w.ends(next, outcome::granted));
    CHECK(w.two.connector().sent() == 1);  // a list: nobody is left
    REQUIRE(w.eventually([&] { return w.one.unfinished().empty(); }));
    CHECK(w.one.connector().sent(operation::remove) == alone);
    CHECK(w.one.connector().sent(request_kind::remove_all) == 1);
    std::set<std::int64_t> transactions;
    for (const auto& each : w.ensemble.log()) {
      if (each.kind == commit_kind::removed) transactions.insert(each.zxid);
    }
    CHECK(transactions.size() == alone + 1);
  }

  TEST_CASE("what comes while a transaction is under way waits for its end, and goes together") {
    many_places w;
    simulated_lock more{w.one, "/r", {lock_family::fair}};
    std::vector<simulated_lock::place> late;
    for (std::uint64_t fiber = 1; fiber <= 5; ++fiber) {
      late.push_back(more.make_place());
      more.queue(late.back(), fiber);
    }
    REQUIRE(w.eventually([&] { return w.ensemble.children("/r").size() == 5; }));
    w.time.run_for(100ms);
    w.one.connector().forget_sent();
    w.give_up();
    REQUIRE(w.eventually([&] { return w.one.connector().sent(request_kind::remove_all) == 1; }));
    for (const auto& each : late) each->cancel();
    CHECK(w.one.connector().sent(operation::remove) == alone);
    CHECK(w.one.connector().sent(request_kind::remove_all) == 1);
    REQUIRE(w.all_is_done());
    CHECK(w.eventually([&] { return w.ensemble.children("/r").empty(); }));
    CHECK(w.one.connector().sent(operation::remove) == alone);
    CHECK(w.one.connector().sent(request_kind::remove_all) == 2);
  }

  TEST_CASE("a deletion for which somebody else may wait does not wait for those of neighbours") {
    many_places w;
    simulated_lock other{w.one, "/r", {lock_family::turns}};
    REQUIRE(w.ends(other.enter(1, contender_kind::lock), outcome::granted));
    w.time.run_for(100ms);
    w.one.connector().forget_sent();
    for (std::size_t i = 0; i < 10; ++i) w.places[i]->cancel();
    REQUIRE(w.eventually([&] { return w.one.connector().sent(request_kind::remove_all) == 1; }));
    CHECK(w.one.connector().sent(operation::remove) == alone);
    w.places[10]->cancel();
    CHECK(w.one.connector().sent() == 2);
    other.leave(1, contender_kind::lock);
    CHECK(w.one.connector().sent(request_kind::remove_all) == 2);  // and takes the eleventh along
    CHECK(w.eventually([&] { return w.ensemble.children("/r").empty() && w.ensemble.children("/q").size() == 9; }));
  }

  TEST_CASE("one that has been deleted by somebody else does not keep the others") {
    many_places w;
    const auto victim = "/q/" + w.ensemble.children("/q").back();
    w.give_up();
    w.ensemble.remove(victim);
    CHECK(w.all_is_done());
  }

  TEST_CASE("what is gathered is deleted, whatever becomes of the answer") {
    for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect, trap::lost_then_late}) {
      CAPTURE(static_cast<int>(fate));
      for (const request_kind kind : {request_kind{operation::remove}, request_kind::remove_all}) {
        many_places w;
        w.one.connector().set_trap(kind, fate);
        w.give_up();
        CHECK(w.all_is_done());
      }
    }
  }

  TEST_CASE("one that is known to be gone is not gathered with others") {
    many_places w;
    simulated_lock other{w.one, "/r", {lock_family::turns}};
    REQUIRE(w.ends(other.enter(1, contender_kind::lock), outcome::granted));
    other.current(1, contender_kind::lock).stop_token();  // its node is watched from now on
    w.time.run_for(100ms);
    w.ensemble.remove("/r/" + w.ensemble.children("/r").front());
    w.one.connector().forget_sent();
    w.give_up();
    REQUIRE(w.all_is_done());
    CHECK(w.one.connector().sent(request_kind::remove_all) == 1);
    CHECK(w.one.connector().sent(operation::remove) == alone + 1);
  }

  TEST_CASE("what a client that is closed has gathered is deleted") {
    many_places w;
    w.one.close();
    CHECK(w.eventually([&] { return w.one.closed(); }));
    CHECK(w.ensemble.children("/q").empty());
    CHECK(w.one.connector().sent(request_kind::remove_all) == 1);
  }

  TEST_CASE("more than go into one transaction go in several") {
    many_places w;
    std::vector<simulated_lock::place> more;
    for (std::uint64_t fiber = 101; fiber <= 1180; ++fiber) {
      more.push_back(w.lock.make_place());
      w.lock.queue(more.back(), fiber);
    }
    REQUIRE(w.queued(1100));
    w.one.connector().forget_sent();
    w.give_up();
    for (const auto& each : more) each->cancel();
    REQUIRE(w.all_is_done());
    CHECK(w.one.connector().sent(request_kind::remove_all) == 2);  // of 960 at most
  }

  TEST_CASE("a refused deletion is given up, gathered or not, and the session goes on") {
    many_places w;
    w.ensemble.forbid(operation::remove, "/q");
    w.give_up();
    CHECK(w.eventually([&] { return w.one.unfinished().empty(); }));
    CHECK(w.ensemble.children("/q").size() == 20);
  }

  TEST_CASE("gathered deletions end with their session") {
    many_places w;
    w.give_up();
    w.ensemble.expire(w.session(w.one));
    CHECK(w.all_is_done());
  }

  TEST_CASE("one's own node that is about to go is nobody to wait for") {
    released_behind_another w;
    w.release();
    const auto call = w.lock.enter(1, contender_kind::lock);
    REQUIRE(w.ends(call, outcome::granted));
    CHECK(w.one.connector().sent(operation::get) == 0);
    CHECK(w.one.connector().sent(operation::children) == 1);
    CHECK(w.queued(1));
  }

  TEST_CASE("nor does it make a try fail") {
    released_behind_another w;
    w.release();
    const auto call = w.lock.enter(1, contender_kind::lock, detail::at_once);
    CHECK(w.ends(call, outcome::granted));
  }

  TEST_CASE("nor does it count as somebody outside who waits") {
    released_behind_another w;
    simulated_lock kept{w.one, "/k", {.family = lock_family::turns, .linger = 1h}};
    simulated_lock waits{w.one, "/k", {lock_family::turns}};
    REQUIRE(w.ends(kept.enter(1, contender_kind::lock), outcome::granted));
    const auto call = waits.enter(2, contender_kind::lock);
    REQUIRE(w.eventually([&] { return w.ensemble.children("/k").size() == 2; }));
    w.time.run_for(100ms);
    w.one.connector().forget_sent();
    w.first.leave(1, contender_kind::lock);
    waits.cancel(call, contender_kind::lock);
    kept.leave(1, contender_kind::lock);
    REQUIRE(w.one.connector().sent(operation::remove) == 1);
    w.time.run_for(1s);
    CHECK(w.ensemble.children("/k").size() == 1);  // the one that is kept
  }

  TEST_CASE("who came in between is waited for") {
    released_behind_another w;
    simulated_lock theirs{w.two, "/q", {lock_family::turns}};
    const auto between = theirs.enter(1, contender_kind::lock);
    REQUIRE(w.queued(2));
    w.release();
    const auto call = w.lock.enter(1, contender_kind::lock);
    REQUIRE(w.ends(between, outcome::granted));
    w.time.run_for(1s);
    CHECK(call->what == outcome::waiting);
    theirs.leave(1, contender_kind::lock);
    CHECK(w.ends(call, outcome::granted));
  }
}
}  // namespace latchkey::testing
