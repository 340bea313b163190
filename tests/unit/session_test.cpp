// SPDX-License-Identifier: Apache-2.0
/// When a session is given up for another one.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "log_lines.hpp"
#include "support/connected_client.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::watch_event;

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

  TEST_CASE("one whose first addresses do not answer begins when the last of them has failed") {
    scripted_client w;
    w.opener->opens();
    w.advance(10s);
    auto given = our_session;
    given.asked_at = w.now - 100ms;
    w.opener->connects(given);
    CHECK(w.own->run([&] { return w.core->session().opened_at(); }) == given.asked_at);
    w.opener->disconnects();
    w.advance(1s);
    given.asked_at = w.now;
    w.opener->connects(given);
    CHECK(w.own->run([&] { return w.core->session().opened_at(); }) < given.asked_at);
  }

  TEST_CASE("one whose names are slow to look up begins when it is asked for: its first lease is no shorter") {
    scripted_client w;
    w.advance(6s);
    w.opener->opens();
    w.opener->connects(our_session);
    CHECK(w.own->run([&] { return w.core->session().opened_at(); }) == w.now);
  }

  TEST_CASE("of lists that are as long as the last one, few are under way: a proof comes behind them") {
    connected_client w;
    int answered = 0;
    const auto list = [&] {
      w.own->run([&] {
        w.core->session().submit({.kind = detail::operation::children, .path = "/q"},
                                 [&](detail::reply&) { ++answered; });
      });
    };
    const auto is_list = [](const auto& each) { return each.what.kind == detail::operation::children; };
    const auto sent = [&] { return std::count_if(w.opener->sent.begin(), w.opener->sent.end(), is_list); };
    const auto answer = [&](std::size_t names) {
      auto& all = w.opener->sent;
      const auto first = std::find_if(all.begin(), all.end(), is_list);
      REQUIRE(first != all.end());
      detail::reply with;
      with.children.assign(names, "_c_00000000-0000-0000-0000-000000000000-lock-0000000000");
      const auto id = first->id;
      all.erase(first);
      w.opener->openings.back().listener->on_reply(w.opener->openings.back().epoch, id, std::move(with));
    };
    for (int i = 0; i < 100; ++i) list();
    CHECK(sent() == 100);  // nothing is known of their length
    for (int i = 0; i < 95; ++i) answer(17'000);
    for (int i = 0; i < 50; ++i) list();
    CHECK(sent() == 5);  // no more until fewer are under way
    for (int i = 0; i < 4; ++i) answer(17'000);
    CHECK(sent() >= 2);
    CHECK(sent() <= 3);
    answer(10);
    CHECK(sent() >= 40);  // they have become short
    while (sent() > 0) answer(10);
    CHECK(answered == 150);
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
      w.opener->connects(our_session);  // the C client may leave the end of the connection out
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
    w.opener->connects(our_session);
    CHECK(w.opener->closings.size() == 1);
    CHECK_FALSE(w.connected());
  }

  TEST_CASE("five connections without an answer within a moment are not enough") {
    connected_client w;
    CHECK_FALSE(w.in_vain_often(20, 20ms));
    w.opener->disconnects();
    w.advance(4s);
    w.opener->connects(our_session);
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
      w.opener->connects(our_session);
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
      w.opener->connects(our_session);
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
      w.opener->connects(our_session);
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

  TEST_CASE("few requests are under way while answers are slow, as a proof comes behind all of them") {
    connected_client w;
    const auto most = detail::request_queue<int>::most_when_slow;
    w.opener->answers_everything();
    w.opener->sent.clear();
    for (std::size_t i = 0; i < most; ++i) w.ask();
    w.advance(our_session.timeout / 24 + 1ms);
    for (std::size_t i = 0; i < 100; ++i) w.ask();
    CHECK(w.opener->sent.size() == most);
    w.opener->answers(w.opener->sent.front().id);  // those that are left are as old
    CHECK(w.opener->sent.size() == most + 1);
    w.opener->answers_everything();
    CHECK(w.opener->sent.size() == 99);
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
}

}  // namespace latchkey::testing
