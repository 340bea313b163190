// SPDX-License-Identifier: Apache-2.0
/// A release that is told by datagram.

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <latchkey/sequencer.hpp>

#include "queue/fenced_commit.hpp"
#include "session/peer_message.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto mode = contender_kind::lock;

client_options four_seconds() {
  client_options options;
  options.session_timeout = 4s;
  return options;
}

/// Three clients with ports, and a lock of each.
struct direct_world {
  simulation time;
  fake_ensemble ensemble{time};
  fake_network network{time, {}};
  simulated_client one{ensemble, four_seconds(), {}, &network};
  simulated_client two{ensemble, four_seconds(), {}, &network};
  simulated_client three{ensemble, four_seconds(), {}, &network};
  std::optional<simulated_lock> ann;
  std::optional<simulated_lock> ben;
  std::optional<simulated_lock> cay;

  explicit direct_world(lock_settings of = {.how = hand_off::direct}) : direct_world{of, of} {}
  direct_world(lock_settings of_ann, lock_settings of_others, std::uint64_t seed = 1) : time{seed} {
    for (auto* each : {&one, &two, &three}) each->connect();
    ann.emplace(one, "/q", of_ann);
    ben.emplace(two, "/q", of_others);
    cay.emplace(three, "/q", of_others);
  }

  ~direct_world() {
    for (auto* each : {&ann, &ben, &cay}) (*each)->shut();
    conclude(time, {&one, &two, &three});
  }
  direct_world(const direct_world&) = delete;
  direct_world& operator=(const direct_world&) = delete;

  bool eventually(const std::function<bool()>& what, duration within = 1min) {
    return time.run_until(what, time.now() + within);
  }
  bool ends(const simulated_lock::call& call, duration within = 1min) {
    return eventually([&] { return call->what != outcome::waiting; }, within) && call->what == outcome::granted;
  }
  simulated_lock::call queue(simulated_lock& who) {
    const auto before = ensemble.children("/q").size();
    auto call = who.enter(1, mode);
    CHECK(eventually([&] { return ensemble.children("/q").size() == before + 1; }));
    time.run_for(100ms);
    return call;
  }
  grant take(simulated_lock& who) {
    REQUIRE(ends(who.enter(1, mode)));
    time.run_for(100ms);
    return who.current(1, mode);
  }
  /// @returns the node of the last in line.
  std::string last_node() {
    const auto number = [](const std::string& name) { return name.substr(name.size() - 10); };
    const auto names = ensemble.children("/q");
    return "/q/" + *std::max_element(names.begin(), names.end(),
                                     [&](const auto& a, const auto& b) { return number(a) < number(b); });
  }
  const fake_server& server_of(simulated_client& of) { return *of.connector().latest()->server(); }
  std::string node(simulated_lock& of) { return detail::grant_state::of(of.current(1, mode))->node(); }
};

const lock_settings fair{.family = lock_family::fair, .how = hand_off::direct};
const lock_settings turns{.how = hand_off::direct};

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

  TEST_CASE(
      "with it the next holder sees what the previous one wrote, on a server that leads no more and does not know") {
    const lock_settings then_sync{.family = lock_family::fair, .how = hand_off::direct_then_sync};
    int tried = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      direct_world w{then_sync, then_sync, seed};
      w.ensemble.plan().sync_limit = 2s;
      if (!w.server_of(w.two).is_leader() || w.server_of(w.one).is_leader()) continue;
      ++tried;
      w.take(*w.ann);
      const auto ben = w.queue(*w.ben);
      w.ensemble.cut_server(w.server_of(w.two).number(), 1min, 1ms);
      REQUIRE(w.eventually([&] { return w.one.connected(); }));
      w.ensemble.create("/data", "new");
      w.ann->leave(1, mode);
      w.one.connector().cut();
      REQUIRE(w.ends(ben));
      CHECK(w.server_of(w.two).zxid() >= w.ensemble.czxid("/data"));
      w.one.connector().heal();
      w.ben->leave(1, mode);
    }
    CHECK(tried > 0);
  }

  TEST_CASE("a waiter whose node an operator has deleted may be told before it hears of that, if no quorum is asked") {
    for (const auto how : {hand_off::ensemble, hand_off::direct, hand_off::direct_then_sync}) {
      int tried = 0;
      int overlaps = 0;
      const lock_settings of{.family = lock_family::fair, .how = how};
      for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        direct_world w{of, of, seed};
        const auto& server = w.server_of(w.two);
        if (server.number() == w.server_of(w.one).number() || server.number() == w.server_of(w.three).number())
          continue;
        ++tried;
        w.take(*w.ann);
        const auto ben = w.queue(*w.ben);
        const auto bens = w.last_node();
        const auto cay = w.queue(*w.cay);
        w.time.run_for(1s);
        w.ensemble.lag(server.number(), {1500ms, 1500ms});
        w.ensemble.remove(bens);
        w.ann->leave(1, mode);
        REQUIRE(w.ends(cay));
        const auto both = [&] { return w.ben->current(1, mode) && w.cay->current(1, mode); };
        if (!both()) continue;
        ++overlaps;
        CHECK(w.eventually([&] { return !both(); }, 1600ms));
      }
      CHECK(tried > 0);
      CHECK((overlaps > 0) == (how == hand_off::direct));
    }
  }

  TEST_CASE("a user who may create entries at another path cannot forge a release at this one") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      direct_world w{fair, fair, seed};
      w.take(*w.ann);
      const auto alike = w.node(*w.ann).substr(3, 21);  // all names of the client at the path begin so
      detail::peer_key key{};
      auto forger = w.network.open(w.three.process(), [](const auto& what) { what(); });
      forger->listen([&](const std::string& from, std::string_view bytes) {
        auto said = *detail::decode(bytes);
        said.what = detail::peer_message::verb::released;
        forger->send(from, detail::encode(said, key));
      });
      w.ensemble.create("/a");
      w.ensemble.create("/a/" + alike + "-8000-000000000000-lock-0000000000",
                        detail::with_advert("{}", {forger->address(""), key}), w.ensemble.foreign_session(1h));
      w.ensemble.set_counter("/a", 1);
      simulated_lock other{w.two, "/a", fair};
      CHECK(w.ends(other.enter(1, mode), 100ms));  // it may at its own
      const auto ben = w.queue(*w.ben);
      CHECK(ben->what == outcome::waiting);
      w.ben->cancel(ben, mode);
      other.shut();
    }
  }

  TEST_CASE(
      "if the holder dies between the message and the deletion, the third in line does not wait for its session") {
    for (const bool asked : {false, true}) {
      direct_world w{fair};
      w.take(*w.ann);
      const auto node = w.node(*w.ann);
      const auto ben = w.queue(*w.ben);
      w.ann->leave(1, mode);
      w.one.connector().cut();
      REQUIRE(w.ends(ben, 10ms));
      if (asked) w.ensemble.change(node, std::string{detail::release_request});  // its watch is spent
      const auto cay = w.queue(*w.cay);
      w.ben->leave(1, mode);
      REQUIRE(w.ends(cay, 10ms));
      CHECK(w.ensemble.exists(node));
      CHECK(w.eventually([&] { return !w.ensemble.exists(node); }, w.two.session_timeout() / 8 + 10ms));
      w.one.connector().heal();
      w.cay->leave(1, mode);
    }
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

  TEST_CASE("right after a reconnect a datagram does not admit a waiter whose node was deleted") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      direct_world w{fair, fair, seed};
      w.take(*w.ann);
      const auto ben = w.queue(*w.ben);
      const auto node = w.last_node();
      w.two.connector().latest()->lose_connection();
      w.ensemble.remove(node);
      for (const bool connected : {false, true}) {
        REQUIRE(w.eventually([&] { return w.two.connected() == connected; }));
      }
      w.two.connector().latest()->open_hole(10ms);  // the events are late
      w.ann->leave(1, mode);
      w.one.connector().cut();
      REQUIRE(w.ends(ben));
      CHECK(w.ensemble.exists(w.node(*w.ben)));
      w.one.connector().heal();
      w.ben->leave(1, mode);
      CHECK(w.eventually([&] { return w.ensemble.children("/q").empty(); }));
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

  TEST_CASE("the next waiter queues again if its node is deleted") {
    direct_world w{fair};
    w.take(*w.ann);
    const auto ben = w.queue(*w.ben);
    w.time.run_for(1min);
    const auto anns = w.node(*w.ann);
    for (const auto& name : w.ensemble.children("/q")) {
      if ("/q/" + name != anns) w.ensemble.remove("/q/" + name);
    }
    CHECK(w.eventually([&] { return w.ensemble.children("/q").size() == 2; }));
    w.ann->leave(1, mode);
    CHECK(w.ends(ben));
    w.ben->leave(1, mode);
  }

  TEST_CASE("a waiter that is cut off is granted after it reconnects") {
    direct_world w{fair};
    w.take(*w.ann);
    const auto ben = w.queue(*w.ben);
    w.two.connector().latest()->open_hole(1s);
    w.time.run_for(3s);  // it is noticed
    w.ann->leave(1, mode);
    CHECK(w.ends(ben));
    w.ben->leave(1, mode);
  }
}

}  // namespace latchkey::testing
