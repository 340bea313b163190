// SPDX-License-Identifier: Apache-2.0
/// What becomes of calls when no server answers.

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "log_lines.hpp"
#include "recipes/fair/fair_places.hpp"
#include "support/outage_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using outcome = detail::waiter::outcome;

constexpr auto T = outage_world::T;

bool is_unreachable(const detail::waiter& who) {
  return who.what == outcome::failed && who.why->code == errc::unreachable;
}

}  // namespace

TEST_SUITE("outage") {
  TEST_CASE("a try fails when there has been no connection within connect_timeout, and waits for that long") {
    outage_world w{10s};
    w.client.opener->opens();
    w.client.advance(3s);
    const auto early = w.call(0s);
    w.client.advance(7s - 1ms);
    CHECK(early->what == outcome::waiting);
    w.client.advance(1ms);
    REQUIRE(is_unreachable(*early));
    CHECK(early->why->what.find("no server of scripted:2181 has answered for 10 s") == 0);
    CHECK(early->why->path == "/q");
    w.client.advance(1s);
    CHECK(is_unreachable(*w.call(0s)));  // at once
    w.client.opener->connects(outage_world::there);
    CHECK(w.call(0s)->what == outcome::waiting);  // for the answer
  }

  TEST_CASE("a call with a timeout fails likewise when its time is over, and is refused during a short outage") {
    outage_world w{10s};
    w.client.opener->opens();
    const auto within = w.call(9s);
    const auto beyond = w.call(11s);
    w.client.advance(9s);
    CHECK(within->what == outcome::refused);
    w.client.advance(2s - 1ms);
    CHECK(beyond->what == outcome::waiting);
    w.client.advance(1ms);
    CHECK(is_unreachable(*beyond));
  }

  TEST_CASE("a time in which this process did not run is no outage") {
    const log_lines lines{log_level::warning};
    outage_world w{10s};
    w.connect();
    w.client.own->run([&] { w.client.own->in(1s, [] {}); });  // something is always due soon
    w.client.now += 1h;
    w.client.opener->disconnects();
    CHECK(w.call(0s)->what == outcome::refused);
    w.client.advance(10s - 1ms);
    CHECK(lines.with("has answered for").empty());
    w.client.advance(1ms);
    CHECK(lines.with("no server of scripted:2181 has answered for 10 s").size() == 1);
  }

  TEST_CASE("an outage in which this process did not run begins anew") {
    const log_lines lines{log_level::warning};
    outage_world w{10s};
    w.connect();
    w.client.opener->disconnects();
    w.client.advance(1s);
    w.client.now += 1h;
    w.client.advance(0s);
    CHECK(w.call(0s)->what == outcome::refused);
    CHECK(lines.with("has answered for").empty());
    w.client.advance(4s);
    CHECK(is_unreachable(*w.call(0s)));
    w.client.advance(6s);
    CHECK(lines.with("no server of scripted:2181 has answered for 10 s").size() == 1);
    w.client.advance(10s);
    CHECK(lines.with("no server of scripted:2181 has answered for 20 s").size() == 1);
  }

  TEST_CASE("once there was a connection, a try is refused for the session timeout, then it fails") {
    outage_world w{10s};
    w.connect();
    w.client.opener->disconnects();
    CHECK(w.call(0s)->what == outcome::refused);
    w.client.advance(T - 1ms);
    CHECK(w.call(0s)->what == outcome::refused);
    w.client.advance(1ms);
    CHECK(is_unreachable(*w.call(0s)));
    w.client.opener->connects(outage_world::there);
    w.client.opener->disconnects();
    CHECK(w.call(0s)->what == outcome::refused);
  }

  TEST_CASE("an outage begins with the last answer, two thirds of the session timeout before its loss at most") {
    const auto longest = std::chrono::milliseconds{T} * 2 / 3;
    for (const std::chrono::milliseconds silent : {2000ms, 3600'000ms}) {
      CAPTURE(silent.count());
      outage_world w{10s};
      w.connect();
      w.client.ask();
      w.client.opener->answers_everything();
      w.client.advance(silent);
      w.client.opener->disconnects();
      const auto left = T - std::min(silent, longest);
      w.client.advance(left - 10ms);
      CHECK(w.call(0s)->what == outcome::refused);
      w.client.advance(20ms);
      CHECK(is_unreachable(*w.call(0s)));
    }
  }

  TEST_CASE("calls without a limit wait, and a cancelled one is false however long the outage") {
    outage_world w{10s};
    w.client.opener->opens();
    const auto patient = w.call(detail::duration::max());
    std::stop_source stop;
    const auto cancelled = w.call(1h);
    w.client.advance(1min);
    CHECK(patient->what == outcome::waiting);
    stop.request_stop();
    CHECK_FALSE(
        detail::await(*w.client.own, cancelled, stop.get_token(), [&](const auto& who) { w.lock->cancel(who); }));
    CHECK(cancelled->what == outcome::refused);
  }

  TEST_CASE("the same for the places of a fair line") {
    outage_world w{10s};
    const auto line = std::make_shared<detail::fair_places>(w.client.core, "/q");
    w.client.opener->opens();
    w.client.advance(10s);
    const auto call = [&](detail::duration timeout) {
      const auto until = detail::end_of_call(timeout, w.client.now);
      auto made = w.client.own->run([&] { return line->enter(++w.fiber, until); });
      w.client.advance(0s);
      return made;
    };
    CHECK(is_unreachable(*call(0s)));
    const auto limited = call(5s);
    const auto patient = call(detail::duration::max());
    w.client.advance(5s);
    CHECK(is_unreachable(*limited));
    CHECK(patient->what == outcome::waiting);
    line->shut();
  }

  TEST_CASE("a call of any kind that goes on while its lock object is destroyed is told so") {
    outage_world w{10s};
    w.connect();
    const auto line = std::make_shared<detail::fair_places>(w.client.core, "/q");
    const auto fair = w.client.own->run([&] { return line->enter(7, detail::end_of_call(1h, w.client.now)); });
    const auto endless = w.call(detail::duration::max());
    const auto limited = w.call(1h);
    w.lock->shut();
    line->shut();
    for (const auto& each : {fair, endless, limited}) {
      REQUIRE(each->what == outcome::failed);
      CHECK(each->why->code == errc::lock_destroyed);
      CHECK(each->why->path == "/q");
    }
  }

  TEST_CASE("a try on a server that does not answer ends with half of the session timeout, or connect_timeout") {
    for (const auto& [connect_timeout, expected] : {std::pair{10s, T / 2}, std::pair{1s, 1s}}) {
      CAPTURE(connect_timeout.count());
      outage_world w{connect_timeout};
      w.connect();
      const auto call = w.call(0s);
      w.client.advance(expected - 1ms);
      CHECK(call->what == outcome::waiting);
      w.client.advance(1ms);
      CHECK(call->what == outcome::refused);
    }
  }

  TEST_CASE("a call whose time is over when it begins tries for 200 ms, connected or not") {
    for (const bool connected : {true, false}) {
      CAPTURE(connected);
      outage_world w{10s};
      w.client.opener->opens();
      if (connected) w.client.opener->connects(outage_world::there);
      const auto call = w.call(detail::timeout_of(0s));
      const auto late = w.call(detail::timeout_of(-1h));
      w.client.advance(200ms - 1ns);
      CHECK(call->what == outcome::waiting);
      w.client.advance(1ns);
      CHECK(call->what == outcome::refused);
      CHECK(late->what == outcome::refused);
    }
  }
}

}  // namespace latchkey::testing
