// SPDX-License-Identifier: Apache-2.0
/// What is said of an outage: to the log and to the observer.

#include <doctest/doctest.h>

#include <mutex>
#include <string>
#include <vector>

#include "log_lines.hpp"
#include "support/outage_world.hpp"

namespace latchkey::testing {
namespace {

using outcome = detail::waiter::outcome;

}  // namespace

TEST_SUITE("outage") {
  TEST_CASE("a call that ends before there was a connection, and sooner than connect_timeout, is logged, once") {
    const log_lines lines{log_level::warning};
    outage_world w{10s};
    w.client.opener->opens();
    const auto one = w.call(3s);
    w.client.advance(3s);
    CHECK(one->what == outcome::refused);
    REQUIRE(lines.all().size() == 1);
    CHECK(lines.all()[0].find("a call has ended before the client was ever connected") == 0);
    CHECK(lines.all()[0].find("no server of scripted:2181 has answered for 3.0 s") != std::string::npos);
    CHECK(lines.all()[0].find("path=/q") != std::string::npos);
    const auto two = w.call(1s);
    w.client.advance(1s);
    CHECK(two->what == outcome::refused);
    w.client.opener->connects(outage_world::there);
    const auto three = w.call(1s);
    w.client.advance(1s);
    CHECK(three->what == outcome::refused);
    CHECK(lines.with("ever connected").size() == 1);
  }

  TEST_CASE("it is reported after connect_timeout, then at growing intervals, with its calls; and so is its end") {
    const log_lines lines{log_level::warning};
    outage_world w{10s};
    w.client.opener->opens();
    const auto one = w.call(detail::duration::max());
    const auto two = w.call(detail::duration::max());
    w.client.advance(10s - 1ms);
    CHECK(lines.all().empty());
    w.client.advance(1ms);
    REQUIRE(lines.all().size() == 1);
    CHECK(lines.all()[0] ==
          "no server of scripted:2181 has answered for 10 s; 2 calls wait; check the connect string, the servers and "
          "the network outage_ms=10000 waiting_calls=2");
    w.client.advance(65s);
    CHECK(lines.with("no server of").size() == 3);  // at 20 s and 40 s
    w.client.opener->connects(outage_world::there);
    REQUIRE(lines.all().size() == 4);
    CHECK(lines.all()[3] ==
          "connected with a new session server=10.0.0.1:2181 session=0x7 session_timeout_ms=4000 outage_ms=75000");
    const auto told = w.outages();
    REQUIRE(told.size() == 4);
    CHECK(told[1].what == client_event::kind::unreachable);
    CHECK(told[1].outage == 20s);
    CHECK(told[1].waiting_calls == 2);
    CHECK(told[3].what == client_event::kind::connected);
    CHECK(told[3].outage == 75s);
  }

  TEST_CASE("in the end ten minutes pass between two reports") {
    outage_world w{1s};
    w.client.opener->opens();
    w.client.advance(100h);
    const auto told = w.outages();
    CHECK(told.size() == 10 + 599);  // until 512 s, and every ten minutes
  }

  TEST_CASE("an outage shorter than connect_timeout is not reported, nor one of a client that is closed") {
    const log_lines lines{log_level::warning};
    outage_world w{10s};
    w.connect();
    w.client.opener->disconnects();
    w.client.advance(9s);
    w.client.opener->connects(outage_world::there);
    CHECK(lines.with("no server").empty());
    w.client.opener->disconnects();
    w.client.own->run([&] { w.client.core->close([] {}); });
    w.client.advance(1h);
    CHECK(lines.with("no server").empty());
    CHECK(w.outages().empty());
  }

  TEST_CASE("a connection that is lost, and a session that is over, are a line each") {
    const log_lines lines{log_level::info};
    outage_world w;
    w.connect();
    w.client.opener->disconnects();
    w.client.opener->connects(outage_world::there);
    w.client.opener->expires();
    CHECK(lines.all() == std::vector<std::string>{
                             "connected with a new session server=10.0.0.1:2181 session=0x7 session_timeout_ms=4000",
                             "the connection was lost; connecting again server=10.0.0.1:2181 session=0x7 grants=0",
                             "connected again with the same session server=10.0.0.1:2181 session=0x7 "
                             "session_timeout_ms=4000",
                             "the session is over; beginning a new one session=0x7 reason=\"session expired\" "
                             "grants=0"});
  }

  TEST_CASE("a server that ends each connection does not fill the log") {
    const log_lines lines{log_level::warning};
    outage_world w;
    w.connect();
    const auto lose = [&](int times) {
      for (int i = 0; i < times; ++i) {
        w.client.opener->disconnects();
        w.client.opener->connects(outage_world::there);
      }
    };
    lose(30);
    CHECK(lines.with("the connection was lost").size() == detail::log_budget::most_at_once);
    CHECK(lines.with("connected again").size() == detail::log_budget::most_at_once);
    w.client.advance(detail::log_budget::pause);
    lose(1);
    REQUIRE(lines.with("the connection was lost").size() == detail::log_budget::most_at_once + 1);
    CHECK(lines.with("the connection was lost").back().ends_with("left_out=25"));
    w.client.advance(1h);
    lose(1);
    CHECK_FALSE(lines.with("the connection was lost").back().find("left_out") != std::string::npos);
  }

  TEST_CASE("the recovery of a connection is logged at the level of its loss") {
    const log_lines lines{log_level::warning};
    outage_world w;
    w.connect();
    CHECK(lines.all().empty());
    w.client.opener->disconnects();
    w.client.opener->connects(outage_world::there);
    CHECK(lines.with("connected again with the same session").size() == 1);
  }
}

}  // namespace latchkey::testing
