// SPDX-License-Identifier: Apache-2.0
/// A release that is told by datagram, when something else goes wrong.

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "session/peer_message.hpp"
#include "support/direct_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

}  // namespace

TEST_SUITE("direct hand-off") {
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
