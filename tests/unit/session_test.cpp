// SPDX-License-Identifier: Apache-2.0
/// When a session is given up for another one.

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "log_lines.hpp"
#include "support/scripted_connector.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::watch_event;

constexpr detail::session_info ours{.id = 7, .timeout = 4s};

/// A client that has been connected, and had an answer.
struct connected_client : scripted_client {
  connected_client() {
    opener->opens();
    opener->connects(ours);
    ask();
    opener->answers_everything();
  }
  /// A connection on which something is sent and nothing is answered. @returns whether the session is another one now.
  bool in_vain(detail::duration length = 1s) {
    const auto before = opener->openings.size();
    opener->disconnects();
    advance(length / 2);
    if (opener->openings.size() != before) return true;
    opener->connects(ours);
    ask();
    advance(length / 2);
    return opener->openings.size() != before;
  }
  bool in_vain_often(int times, detail::duration length = 1s) {
    for (int i = 0; i < times; ++i) {
      if (in_vain(length)) return true;
    }
    return false;
  }
};

}  // namespace

TEST_SUITE("session") {
  TEST_CASE("one that connects again and again without an answer is given up, and the log says why") {
    const log_lines log;
    connected_client w;
    CHECK(w.in_vain_often(20));
    CHECK(w.opener->openings.size() == 2);
    CHECK(w.opener->closings.size() == 1);
    REQUIRE(log.all().size() == 1);
    CHECK(log.all()[0].find("jute.maxbuffer") != std::string::npos);
    w.opener->opens();
    w.opener->connects({.id = 8, .timeout = 4s});
    CHECK(w.connected());
  }

  TEST_CASE("one whose names are slow to look up begins when it is asked for: its first lease is no shorter") {
    scripted_client w;
    w.advance(6s);
    w.opener->opens();
    w.opener->connects(ours);
    CHECK(w.own->run([&] { return w.core->session().opened_at(); }) == w.now);
  }

  TEST_CASE("one that is given up while the client closes is not heard of again") {
    const log_lines log;
    connected_client w;
    const auto owed = [&] { w.own->run([&] { w.core->reaper().remove("/owed"); }); };
    owed();
    bool closed = false;
    w.own->run([&] { w.core->close([&] { closed = true; }); });
    for (int i = 0; i < 12; ++i) {
      w.ask();
      w.advance(400ms);
      w.opener->connects(ours);  // the C client may leave the end of the connection out
    }
    CHECK(log.with("jute.maxbuffer").size() == 1);
    CHECK(w.opener->openings.size() == 1);
    CHECK_FALSE(w.connected());
    w.advance(2s);
    w.opener->closings.back()();
    CHECK(closed);
  }

  TEST_CASE("one whose client closes is not connected once the last request has been answered by its end") {
    connected_client w;
    w.ask();
    w.own->run([&] { w.core->close([] {}); });
    w.opener->connects(ours);
    CHECK(w.opener->closings.size() == 1);
    CHECK_FALSE(w.connected());
  }

  TEST_CASE("five connections without an answer within a moment are not enough") {
    connected_client w;
    CHECK_FALSE(w.in_vain_often(20, 20ms));
    w.opener->disconnects();
    w.advance(4s);
    w.opener->connects(ours);
    w.ask();
    CHECK(w.in_vain(20ms));
  }

  TEST_CASE("one answer, even of a refusal, or one event of a watch shows that the session works") {
    for (const bool event : {false, true}) {
      CAPTURE(event);
      connected_client w;
      w.watch("/a");
      w.opener->answers_everything();
      for (int round = 0; round < 10; ++round) {
        REQUIRE_FALSE(w.in_vain_often(4));
        if (event) {
          w.opener->tells(watch_event::changed, "/a");
        } else {
          w.opener->answers(w.opener->sent.back().id, detail::reply_code::no_permission);
        }
      }
      CHECK(w.opener->openings.size() == 1);
    }
  }

  TEST_CASE("the end of the connection is no answer, whatever it makes of what is in flight") {
    connected_client w;
    bool given_up = false;
    for (int i = 0; i < 20 && !given_up; ++i) {
      given_up = w.in_vain();
      if (given_up) break;
      w.opener->answers(w.opener->sent.back().id, detail::reply_code::unknown_outcome);
    }
    CHECK(given_up);
  }

  TEST_CASE("connections on which nothing was sent do not count") {
    connected_client w;
    for (int i = 0; i < 50; ++i) {
      w.opener->disconnects();
      w.advance(1s);
      w.opener->connects(ours);
      w.advance(100ms);
    }
    CHECK(w.opener->openings.size() == 1);
  }

  TEST_CASE("nor do connections that time out") {
    connected_client w;
    CHECK_FALSE(w.in_vain_often(20, 6s));
  }

  TEST_CASE("a client that only waits asks for a sign of life after a connection without one") {
    connected_client w;
    w.watch("/a");
    w.opener->answers_everything();
    for (int i = 0; i < 50; ++i) {
      w.opener->disconnects();
      w.advance(500ms);
      w.opener->connects(ours);
      w.advance(500ms);
      w.opener->answers_everything();
    }
    CHECK(w.opener->openings.size() == 1);
  }

  TEST_CASE("its watches alone may be what the servers do not take") {
    connected_client w;
    w.watch("/a");
    w.opener->answers_everything();
    for (int i = 0; i < 20 && w.opener->openings.size() == 1; ++i) {
      w.opener->disconnects();
      w.advance(500ms);
      if (w.opener->openings.size() != 1) break;
      w.opener->connects(ours);
      w.advance(500ms);
    }
    CHECK(w.opener->openings.size() == 2);
  }

  TEST_CASE("a request that nobody waits for any more is not sent, and its watch is forgotten") {
    connected_client w;
    w.opener->sent.clear();
    const auto most = detail::request_queue<int>::most_calls;
    for (std::size_t i = 0; i < most; ++i) w.ask();
    bool wanted = true;
    auto code = detail::reply_code::ok;
    w.own->run([&] {
      w.core->session().submit(
          {.kind = detail::operation::get, .path = "/withdrawn"},
          detail::while_wanted{[&] { return !wanted; }, [&](detail::reply& with) { code = with.code; }},
          [](watch_event) {});
    });
    w.ask({.kind = detail::operation::get, .path = "/wanted"});
    REQUIRE(w.opener->sent.size() == most);
    wanted = false;
    w.opener->answers(w.opener->sent.front().id);
    REQUIRE(w.opener->sent.size() == most + 1);
    CHECK(w.opener->sent.back().what.path == "/wanted");
    CHECK(code == detail::reply_code::not_sent);
    CHECK(w.own->run([&] { return w.core->session().watched_paths().empty(); }));
  }

  TEST_CASE("a proof waits for no other request") {
    connected_client w;
    for (std::size_t i = 0; i < 10000; ++i) w.ask();
    w.opener->sent.clear();
    w.own->run([&] {
      w.core->session().submit(
          {.kind = detail::operation::sync, .path = "/"}, [](detail::reply&) {}, detail::urgency::proof);
    });
    REQUIRE(w.opener->sent.size() == 1);
    CHECK(w.opener->sent.front().what.kind == detail::operation::sync);
  }

  TEST_CASE("a server that gives no session as long as is needed is left for another") {
    scripted_client w{scripted_client::on_slow_servers()};
    w.opener->opens();
    w.opener->connects({.id = 7, .timeout = 3s, .server = "10.0.0.1:2181"});
    REQUIRE(w.opener->openings.size() == 2);
    CHECK(w.opener->openings[1].without == std::vector<std::string>{"10.0.0.1:2181"});
    CHECK(w.opener->closings.size() == 1);
    w.opener->opens();
    w.opener->connects({.id = 8, .timeout = 4s, .server = "10.0.0.2:2181"});
    CHECK(w.connected());
    CHECK_FALSE(w.failed());
  }

  TEST_CASE("the user hears of no session that was not one") {
    std::vector<client_event::kind> heard;
    auto options = scripted_client::on_slow_servers();
    options.observer = [&](const client_event& event) { heard.push_back(event.what); };
    {
      scripted_client w{options};
      w.opener->opens();
      w.opener->connects({.id = 7, .timeout = 3s, .server = "10.0.0.1:2181"});
      w.opener->opens();
      w.opener->connects(ours);
    }
    CHECK(heard == std::vector{client_event::kind::connected});
  }

  TEST_CASE("only when no server is left the timeout is refused, and the error names the longest that there is") {
    scripted_client w{scripted_client::on_slow_servers()};
    for (const auto most : {2s, 3s, 1s}) {
      REQUIRE_FALSE(w.failed());
      w.opener->opens();
      w.opener->connects({.id = 7, .timeout = most, .server = std::to_string(most.count())});
    }
    CHECK(w.opener->openings.back().without.size() == 3);
    w.opener->fails_to_open("");
    REQUIRE(w.failed());
    CHECK(w.failed()->code == errc::session_timeout_refused);
    CHECK(w.failed()->what.find("at most 3000 ms") != std::string::npos);
  }

  TEST_CASE("names that do not resolve for a while are no refusal") {
    scripted_client w{scripted_client::on_slow_servers()};
    w.opener->opens();
    w.opener->connects({.id = 7, .timeout = 3s, .server = "10.0.0.1:2181"});
    w.opener->fails_to_open("no host resolves");
    CHECK_FALSE(w.failed());
    w.advance(1s);
    REQUIRE(w.opener->openings.size() == 3);
    CHECK(w.opener->openings[2].without == std::vector<std::string>{"10.0.0.1:2181"});
  }

  TEST_CASE("servers that are never told apart are not asked for ever") {
    scripted_client w{scripted_client::on_slow_servers()};
    int asked = 0;
    for (; asked < 1000 && !w.failed(); ++asked) {
      w.opener->opens();
      w.opener->connects({.id = 7, .timeout = 3s});
    }
    CHECK(asked < 100);
    CHECK(w.failed());
  }

  TEST_CASE("servers that refuse are asked again in the session after the next") {
    scripted_client w{scripted_client::on_slow_servers()};
    w.opener->opens();
    w.opener->connects({.id = 7, .timeout = 3s, .server = "10.0.0.1:2181"});
    REQUIRE(w.opener->openings.size() == 2);
    CHECK(w.opener->openings[1].without == std::vector<std::string>{"10.0.0.1:2181"});
    w.opener->opens();
    w.opener->connects(ours);
    w.opener->expires();
    REQUIRE(w.opener->openings.size() == 3);
    CHECK(w.opener->openings[2].without.empty());  // its configuration may have been changed back
    CHECK_FALSE(w.failed());
  }

  TEST_CASE("the warning of a session timeout that the servers lower says for which to ask") {
    const log_lines lines{log_level::warning};
    scripted_client w;
    w.opener->opens();
    w.opener->connects({.id = 7, .timeout = 3s, .server = "10.0.0.1:2181"});
    REQUIRE(lines.all().size() == 1);
    CHECK(lines.all()[0].find("the ensemble lowered the session timeout; ask for 3000 ms") == 0);
  }

  TEST_CASE("a session timeout below the minimum of the servers is raised to it, with a warning") {
    const log_lines lines{log_level::warning};
    scripted_client w;
    w.opener->opens();
    w.opener->connects({.id = 7, .timeout = 20s, .server = "10.0.0.1:2181"});
    CHECK(w.connected());
    CHECK(w.opener->openings.size() == 1);
    REQUIRE(lines.all().size() == 1);
    CHECK(lines.all()[0].find("the ensemble raised the session timeout") == 0);
    CHECK(lines.all()[0].find("ask for 20000 ms") != std::string::npos);
    CHECK(lines.all()[0].find("wanted_ms=4000 session_timeout_ms=20000") != std::string::npos);
  }

  TEST_CASE("a session whose timeout a server makes longer is over, and the next one may have the longer timeout") {
    const log_lines lines{log_level::warning};
    connected_client w;
    w.opener->disconnects();
    w.opener->connects({.id = 7, .timeout = 20s, .server = "10.0.0.1:2181"});
    REQUIRE(w.opener->openings.size() == 2);
    CHECK(w.opener->openings[1].without.empty());
    CHECK(lines.with("beginning a new session session_timeout_ms=4000 granted_ms=20000").size() == 1);
    w.opener->opens();
    w.opener->connects({.id = 8, .timeout = 20s, .server = "10.0.0.1:2181"});
    CHECK(w.connected());
    CHECK(w.opener->openings.size() == 2);
  }

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
    w.opener->connects(ours);
    w.opener->look_ups = 0;
    w.advance(1h);
    CHECK(w.opener->look_ups == 0);
  }

  TEST_CASE("servers that have moved are tried in the same session, also by the next time that they are needed") {
    connected_client w;
    w.opener->disconnects();
    w.opener->moves("10.0.0.4:2181");
    CHECK(w.opener->servers == "10.0.0.4:2181");
    w.opener->connects(ours);
    w.opener->moves("10.0.0.5:2181");  // from a name server that was slow
    CHECK(w.opener->servers == "10.0.0.5:2181");
    w.opener->disconnects();
    w.advance(5s);
    CHECK(w.opener->openings.size() == 1);
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
    w.opener->connects(ours);
    w.opener->disconnects();
    w.advance(1h);
    CHECK(w.opener->openings.size() == 1);
  }
}

}  // namespace latchkey::testing
