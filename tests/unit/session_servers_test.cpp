// SPDX-License-Identifier: Apache-2.0
/// Servers that have moved, or lost their data.

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "log_lines.hpp"
#include "support/connected_client.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

}  // namespace

TEST_SUITE("session") {
  TEST_CASE("names are looked up from a moment after the end of the connection on, ever more seldom, until the next") {
    connected_client w;
    w.advance(1h);
    CHECK(w.opener->look_ups == 0);
    w.opener->disconnects();
    w.advance(99ms);
    CHECK(w.opener->look_ups == 0);  // it may know another server
    w.advance(1ms);
    CHECK(w.opener->look_ups == 1);
    w.advance(900ms);
    CHECK(w.opener->look_ups >= 4);
    const auto first = std::exchange(w.opener->look_ups, 0);
    w.advance(9s);
    CHECK(w.opener->look_ups <= 2 * first);
    w.advance(1h);
    CHECK(w.opener->look_ups > 300);
    CHECK(w.opener->look_ups < 400);
    w.opener->connects(our_session);
    w.opener->look_ups = 0;
    w.advance(1h);
    CHECK(w.opener->look_ups == 0);
  }

  TEST_CASE("servers that have moved are tried in the same session, also by the next time that they are needed") {
    connected_client w;
    w.opener->disconnects();
    w.opener->moves("10.0.0.4:2181");
    CHECK(w.opener->servers == "10.0.0.4:2181");
    w.opener->connects(our_session);
    w.opener->moves("10.0.0.5:2181");  // from a name server that was slow
    CHECK(w.opener->servers == "10.0.0.5:2181");
    w.opener->disconnects();
    w.advance(5s);
    CHECK(w.opener->openings.size() == 1);
  }

  TEST_CASE("those that a slow name server tells of before the session has been opened are used when it has been") {
    connected_client w;
    w.opener->expires();
    w.opener->moves("10.0.0.4:2181");
    CHECK(w.opener->servers.empty());
    w.opener->opens();
    CHECK(w.opener->servers == "10.0.0.4:2181");
  }

  TEST_CASE("if they do not let it in for longer than a session lasts, a new session begins") {
    connected_client w;
    w.opener->disconnects();
    w.advance(20s);
    w.opener->moves("10.0.0.4:2181");
    SUBCASE("as the handle does not take them") {}
    SUBCASE("as they are down") { w.opener->servers.clear(); }
    w.advance(5900ms);
    CHECK(w.opener->openings.size() == 1);
    w.advance(12s);  // the look-ups are far apart by now
    REQUIRE(w.opener->openings.size() == 2);
    w.opener->opens();
    w.advance(1h);
    CHECK(w.opener->openings.size() == 2);  // it has been opened with those
  }

  TEST_CASE("a node of a new session that is older than what an earlier one has seen is of another history") {
    connected_client w;
    detail::reply made;
    made.stat.czxid = 1000;
    w.ask({.kind = detail::operation::create, .path = "/a"});
    w.opener->answers(w.opener->sent.back().id, made);
    w.opener->expires();
    w.opener->opens();
    w.opener->connects({.id = 8, .timeout = 4s});
    made.stat.czxid = 10;
    w.ask();  // it may be older
    w.opener->answers(w.opener->sent.back().id, made);
    CHECK_FALSE(w.failed());
    SUBCASE("as the answer to its creation says") { w.ask({.kind = detail::operation::create, .path = "/a"}); }
    SUBCASE("as a read of it says") {
      w.ask();
      made.stat.ephemeral_owner = 8;
    }
    w.opener->answers(w.opener->sent.back().id, made);
    REQUIRE(w.failed());
    CHECK(w.failed()->code == errc::data_lost);
  }

  TEST_CASE("without others the session goes on, however long no server answers") {
    connected_client w;
    w.opener->disconnects();
    w.opener->moves("10.0.0.4:2181");
    w.opener->connects(our_session);
    w.opener->disconnects();
    w.advance(1h);
    CHECK(w.opener->openings.size() == 1);
  }
}

}  // namespace latchkey::testing
