// SPDX-License-Identifier: Apache-2.0
/// What a client counts and logs of direct hand-off.

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/path.hpp"
#include "log_lines.hpp"
#include "session/peer_message.hpp"
#include "session/peers.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using verb = detail::peer_message::verb;

/// Two clients with ports and a lock of each, and a port that says what the test wants.
struct peer_world {
  simulation time{1};
  fake_ensemble ensemble{time};
  fake_network network;
  simulated_client one{ensemble, {}, {}, &network};
  simulated_client two{ensemble, {}, {}, &network};
  std::unique_ptr<detail::datagram_port> other;
  std::optional<simulated_lock> ann;
  std::optional<simulated_lock> ben;

  explicit peer_world(hand_off how = hand_off::direct, const datagram_plan& plan = {}) : network{time, plan} {
    for (auto* each : {&one, &two}) REQUIRE(each->connect());
    other = network.open(one.process(), [](const auto& what) { what(); });
    ann.emplace(one, "/q", lock_settings{.family = lock_family::fair, .how = how});
    ben.emplace(two, "/q", lock_settings{.family = lock_family::fair, .how = how});
  }

  ~peer_world() {
    for (auto* each : {&ann, &ben}) (*each)->shut();
    conclude(time, {&one, &two});
  }
  peer_world(const peer_world&) = delete;
  peer_world& operator=(const peer_world&) = delete;

  peer_metrics counts(simulated_client& of) {
    const auto all = of.run([&] { return of.core()->metrics(); });
    REQUIRE(all.peers);
    return *all.peers;
  }
  bool eventually(const std::function<bool()>& what) { return time.run_until(what, time.now() + 1min); }
  bool ends(const simulated_lock::call& call) {
    return eventually([&] { return call->what != outcome::waiting; }) && call->what == outcome::granted;
  }
  simulated_lock::call queue(simulated_lock& who, std::uint64_t fiber = 1) {
    const auto before = ensemble.children("/q").size();
    auto call = who.enter(fiber, mode);
    CHECK(eventually([&] { return ensemble.children("/q").size() == before + 1; }));
    time.run_for(100ms);
    return call;
  }
  void take() {
    REQUIRE(ends(ann->enter(1, mode)));
    time.run_for(100ms);
  }
  /// @returns the name of the only node, not counting `but`.
  std::string entry(const std::string& but = {}) {
    auto names = ensemble.children("/q");
    std::erase(names, but);
    REQUIRE(names.size() == 1);
    return names.front();
  }
  detail::peer_advert advert(const std::string& name) { return *detail::read_advert(ensemble.data("/q/" + name)); }
  void say(const std::string& to, std::string_view bytes) {
    other->send(to, bytes);
    time.run_for(100ms);
  }
};

}  // namespace

TEST_SUITE("direct hand-off") {
  TEST_CASE("a subscription is counted, its answer, and the contender that a datagram admits") {
    for (const auto how : {hand_off::direct, hand_off::direct_then_sync}) {
      peer_world w{how};
      w.take();
      const auto ben = w.queue(*w.ben);
      CHECK(w.counts(w.two).subscriptions == 1);
      CHECK(w.counts(w.two).acknowledged == 1);
      CHECK(w.counts(w.two).admitted == 0);
      w.time.run_for(50s);  // it is repeated, and answered, every 20 s
      w.ann->leave(1, mode);
      w.one.connector().cut();  // the deletion does not overtake the datagram, nor the sync
      REQUIRE(w.ends(ben));
      w.one.connector().heal();
      w.ben->leave(1, mode);
      const auto of_two = w.counts(w.two);
      CHECK(of_two.subscriptions == 1);
      CHECK(of_two.acknowledged == 1);
      CHECK(of_two.admitted == 1);
      for (auto* each : {&w.one, &w.two}) {
        const auto of = w.counts(*each);
        CHECK(of.given_up + of.malformed + of.unknown + of.bad_tag + of.stale == 0);
      }
      CHECK(w.counts(w.one).admitted == 0);
    }
  }

  TEST_CASE("one that the ensemble admits is not counted as admitted by a datagram") {
    peer_world w;
    w.take();
    const auto ann = w.entry();
    const auto ben = w.queue(*w.ben);
    w.ensemble.remove("/q/" + ann);
    REQUIRE(w.ends(ben));
    CHECK(w.counts(w.two).admitted == 0);
    CHECK(w.counts(w.two).acknowledged == 1);
  }

  TEST_CASE("a client without peers has no numbers of them") {
    calm_world w;
    CHECK_FALSE(w.one.run([&] { return w.one.core()->metrics().peers; }));
  }

  TEST_CASE("an address that does not answer is logged once in 30 s, and each time is counted") {
    const log_lines lines{log_level::info};
    peer_world w{hand_off::direct, {.lost = 1}};
    const auto told = [&] { return lines.with("does not answer by UDP").size(); };
    w.take();
    const auto address = w.advert(w.entry()).address;
    const auto ben = w.queue(*w.ben);
    CHECK(w.counts(w.two).given_up == 1);
    REQUIRE(told() == 1);
    CHECK(lines.with("check firewalls, NAT and its peer_options::advertise address=" + address).size() == 1);
    const auto again = [&](simulated_lock::call last) {
      w.ben->cancel(last, mode);
      REQUIRE(w.eventually([&] { return w.ensemble.children("/q").size() == 1; }));
      return w.queue(*w.ben);
    };
    again(ben);
    w.time.run_for(1s);
    CHECK(w.counts(w.two).given_up == 1);
    CHECK(told() == 1);
    w.time.run_for(detail::awaited_peers::silent_for);  // one that waits on asks again
    CHECK(w.counts(w.two).given_up == 2);
    CHECK(told() == 2);
  }

  TEST_CASE("of several that wait in vain for the same address one is logged") {
    const log_lines lines{log_level::info};
    peer_world w{hand_off::direct, {.lost = 1}};
    simulated_lock more{w.one, "/r", {.family = lock_family::fair, .how = hand_off::direct}};
    simulated_lock waits{w.two, "/r", {.family = lock_family::fair, .how = hand_off::direct}};
    w.take();
    REQUIRE(w.ends(more.enter(1, mode)));
    const auto first = w.ben->enter(1, mode);
    const auto second = waits.enter(1, mode);
    w.time.run_for(1s);
    CHECK(w.counts(w.two).given_up == 2);
    CHECK(lines.with("does not answer by UDP").size() == 1);
  }

  TEST_CASE("datagrams without effect are counted by reason at the entry ahead") {
    peer_world w;
    w.take();
    const auto ann = w.entry();
    const auto at = w.advert(ann);
    const auto ben = w.queue(*w.ben);
    const auto behind = w.entry(ann);
    const auto number = ann.size() - 10;
    w.say(at.address, "x");
    CHECK(w.counts(w.one).malformed == 1);
    w.say(at.address, detail::encode({verb::subscribe, ann, ann, {}}, at.key));  // it would wait for itself
    CHECK(w.counts(w.one).malformed == 2);
    const auto last = ann.substr(0, number) + "0000009999";
    w.say(at.address, detail::encode({verb::subscribe, ann, last, {}}, {}));
    CHECK(w.counts(w.one).bad_tag == 1);
    w.say(at.address, detail::encode({verb::subscribe, ann, last, {}}, at.key));
    CHECK(w.counts(w.one).stale == 0);
    w.say(at.address, detail::encode({verb::subscribe, ann, behind, {}}, at.key));  // by now it must have gone
    const auto of = w.counts(w.one);
    CHECK(of.stale == 1);
    CHECK(of.malformed == 2);
    CHECK(of.bad_tag == 1);
  }

  TEST_CASE("they are counted at the entry behind, too") {
    peer_world w;
    detail::peer_message asked;
    std::string ahead;
    std::string behind;
    std::string from;
    w.other->listen([&](const std::string& sender, std::string_view bytes) {
      asked = *detail::decode(bytes);
      ahead = asked.ahead;
      behind = asked.behind;
      from = sender;
    });
    const detail::peer_advert foreign{w.other->address(""), {1, 2, 3}};
    w.take();  // makes the path
    w.ann->leave(1, mode);
    REQUIRE(w.eventually([&] { return w.ensemble.children("/q").empty(); }));
    w.ensemble.create("/q/_c_0-lock-0000000000", detail::with_advert("{}", foreign));
    const auto ben = w.ben->enter(1, mode);
    REQUIRE(w.eventually([&] { return !from.empty(); }));
    const auto answer = [&](verb what, const std::string& to, detail::peer_nonce nonce, detail::peer_key key) {
      w.other->send(from, detail::encode({what, ahead, to, nonce}, key));
      w.time.run_for(1500us);
      return w.counts(w.two);
    };
    CHECK(answer(verb::noted, behind, asked.nonce, {}).bad_tag == 1);
    CHECK(answer(verb::noted, behind, {}, foreign.key).stale == 1);
    CHECK(answer(verb::noted, "x0000000001", asked.nonce, foreign.key).unknown == 1);
    CHECK(w.counts(w.two).acknowledged == 0);
    CHECK(answer(verb::noted, behind, asked.nonce, foreign.key).acknowledged == 1);
    CHECK(answer(verb::noted, behind, asked.nonce, foreign.key).acknowledged == 1);
    const auto of = answer(verb::released, behind, asked.nonce, foreign.key);
    CHECK(of.admitted == 1);
    CHECK(of.bad_tag + of.stale + of.unknown == 3);
    CHECK(w.ends(ben));
  }

  TEST_CASE(
      "a release that comes during an outage, or in a moment in which a quorum cannot be asked, admits afterwards") {
    for (const auto how : {hand_off::direct, hand_off::direct_then_sync}) {
      peer_world w{how};
      w.take();
      const auto ben = w.queue(*w.ben);
      const auto checks = [&] { return w.two.connector().sent(request_kind::check); };
      const auto before = checks();
      if (how == hand_off::direct) w.two.connector().latest()->lose_connection();
      w.ann->leave(1, mode);
      w.one.connector().cut();  // only the message tells
      if (how == hand_off::direct_then_sync) {
        REQUIRE(w.eventually([&] { return checks() > before; }));
        w.two.connector().latest()->lose_connection();
      }
      w.time.run_for(2ms);
      CHECK(ben->what == outcome::waiting);
      REQUIRE(w.ends(ben));
      CHECK(w.counts(w.two).admitted == 1);
      CHECK(w.counts(w.two).stale == 0);
      w.one.connector().heal();
      w.ben->leave(1, mode);
    }
  }
}

}  // namespace latchkey::testing
