// SPDX-License-Identifier: Apache-2.0
/// Session timeouts that servers refuse, or change.

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "log_lines.hpp"
#include "session/second_handle.hpp"
#include "support/connected_client.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

}  // namespace

TEST_SUITE("session") {
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

  TEST_CASE("what is no ZooKeeper server is left for another address, and the log names it") {
    for (const auto& said : {detail::session_info{.id = 0x65717565737400, .timeout = 149797h, .server = "10.0.0.1:80"},
                             detail::session_info{.id = 0, .timeout = 0ms, .server = "10.0.0.1:80"}}) {
      const log_lines log{log_level::warning};
      scripted_client w;
      w.opener->opens();
      w.opener->connects(said);
      CHECK_FALSE(w.connected());
      CHECK(w.opener->closings.size() == 1);
      w.advance(100ms);
      REQUIRE(w.opener->openings.size() == 2);
      CHECK(w.opener->openings[1].without == std::vector<std::string>{"10.0.0.1:80"});
      w.opener->opens();
      w.opener->connects(our_session);
      CHECK(w.connected());
      REQUIRE(log.all().size() == 1);
      CHECK(log.all()[0].find("what answers at an address is no ZooKeeper server") == 0);
      CHECK(log.all()[0].find("10.0.0.1:80") != std::string::npos);
    }
  }

  TEST_CASE("so it is if its connection ends before the session has heard of the handle") {
    scripted_client w;
    w.opener->connects({.id = 0, .timeout = 0ms, .server = "10.0.0.1:80"});
    w.opener->disconnects();
    w.opener->opens();
    CHECK(w.opener->closings.size() == 1);
    w.advance(100ms);
    REQUIRE(w.opener->openings.size() == 2);
    w.opener->opens();
    w.opener->connects(our_session);
    CHECK(w.connected());
  }

  TEST_CASE(
      "a handle beside that of the session leaves it, too, whether it is opened before it is connected or after") {
    for (const bool opened_first : {false, true}) {
      scripted_client w;
      detail::second_handle beside{*w.own, *w.opener};
      const auto look = [&] { w.own->run([&] { beside.look(1, 1s, {}); }); };
      look();
      REQUIRE(w.opener->side_openings.size() == 1);
      if (opened_first) w.opener->opens_beside();
      w.opener->connects_beside({.id = 0, .timeout = 0ms, .server = "10.0.0.1:80"});
      if (!opened_first) w.opener->opens_beside();
      REQUIRE(w.opener->closings.size() == 1);
      w.opener->closings.back()();
      w.advance(1s);
      look();
      CHECK(w.opener->side_openings.size() == 2);
    }
  }

  TEST_CASE("addresses at which no ZooKeeper server answers are asked for ever, but not often") {
    const log_lines log{log_level::warning};
    scripted_client w;
    const auto end = w.now + 10min;
    while (w.now < end) {
      const auto before = w.opener->openings.size();
      if (w.opener->openings.back().without.empty()) {
        w.opener->opens();
        w.opener->connects({.id = 7, .timeout = 10000h, .server = "10.0.0.1:80"});
      } else {
        w.opener->fails_to_open("");
      }
      while (w.opener->openings.size() == before) w.advance(100ms);
    }
    CHECK(w.opener->openings.size() > 100);
    CHECK(w.opener->openings.size() < 300);
    CHECK(log.with("what answers at an address").size() == 1);
    CHECK_FALSE(w.failed());
    if (!w.opener->openings.back().without.empty()) w.opener->fails_to_open("");
    w.advance(5s);
    w.opener->opens();
    w.opener->connects(our_session);
    CHECK(w.connected());
  }

  TEST_CASE("that is no refusal, though a server has once refused the session timeout") {
    scripted_client w{scripted_client::on_slow_servers()};
    w.opener->opens();
    w.opener->connects({.id = 7, .timeout = 3s, .server = "10.0.0.1:2181"});
    w.opener->opens();
    w.opener->connects(our_session);
    w.opener->expires();
    w.opener->opens();
    w.opener->connects({.id = 8, .timeout = 10000h, .server = "10.0.0.2:80"});
    w.advance(100ms);
    w.opener->fails_to_open("");
    CHECK_FALSE(w.failed());
    w.advance(1s);
    CHECK(w.opener->openings.back().without.empty());
  }

  TEST_CASE("its address is asked again, also while other names do not resolve") {
    scripted_client w;
    w.opener->opens();
    w.opener->connects({.id = 8, .timeout = 10000h, .server = "10.0.0.2:80"});
    w.advance(100ms);
    REQUIRE(w.opener->openings.back().without.size() == 1);
    w.opener->fails_to_open("no host resolves");
    w.advance(1s);
    CHECK(w.opener->openings.back().without.empty());
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
      w.opener->connects(our_session);
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
    w.opener->connects(our_session);
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
}

}  // namespace latchkey::testing
