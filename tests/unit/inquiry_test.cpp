// SPDX-License-Identifier: Apache-2.0
/// A look at a queue that is long, or has much data in it.

#include "queue/inquiry.hpp"
#include "error_of.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "support/scripted_connector.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::barrier;
using detail::inquiry;
using detail::operation;
using detail::reply_code;

struct asking_client : scripted_client {
  asking_client() {
    opener->opens();
    opener->connects({.id = 7, .timeout = 4s});
  }
  std::shared_ptr<inquiry> ask_for(std::size_t count, detail::duration timeout = 10s) {
    std::vector<detail::request> reads;
    for (std::size_t i = 0; i < count; ++i)
      reads.push_back({.kind = operation::get, .path = "/q/" + std::to_string(i)});
    return start(std::move(reads), timeout);
  }
  std::shared_ptr<inquiry> start(std::vector<detail::request> what, detail::duration timeout = 10s) {
    const auto asked = std::make_shared<inquiry>(*core, "/q", std::move(what));
    own->run([&] { asked->start(now + timeout); });
    return asked;
  }
  /// Answers the oldest with so much data.
  void answer_one(std::size_t size = 10) {
    detail::reply with;
    with.data_size = size;
    const auto id = opener->sent.front().id;
    opener->sent.erase(opener->sent.begin());
    opener->openings.back().listener->on_reply(opener->openings.back().epoch, id, std::move(with));
  }
};

/// An entry that may be granted at any time.
struct next_in_line final : detail::holder {
  const std::string& node() const noexcept override { return node_; }
  void on_node_seen(bool, std::int64_t) override {}
  void on_node_gone() override {}
  void on_node_unseen(reply_code) override {}
  void on_suspect() override {}
  void on_lost(loss_reason) override {}
  void on_proved() override {}
  void on_unproved() override {}
  bool begin_release() override { return false; }
  void end_release(bool) override {}

 private:
  const std::string node_ = "/q/_c_0001-lock-0000000001";
};

}  // namespace

TEST_SUITE("inquiry") {
  TEST_CASE("no more than 64 reads are under way at a time") {
    asking_client w;
    const auto asked = w.ask_for(1000);
    std::size_t most = 0;
    std::size_t answers = 0;
    while (!asked->over()) {
      most = std::max(most, w.opener->sent.size());
      REQUIRE_FALSE(w.opener->sent.empty());
      w.answer_one();
      ++answers;
    }
    CHECK(most == inquiry::most_at_once);
    CHECK(answers == 1000);
    CHECK(asked->wait()->size() == 1000);
  }

  TEST_CASE("while a grant is to be proved there are few, until it is known how large they are") {
    const auto reads = [](const asking_client& w) {
      const auto& sent = w.opener->sent;
      return std::count_if(sent.begin(), sent.end(), [](const auto& each) { return each.what.kind == operation::get; });
    };
    asking_client idle;
    const auto all = idle.ask_for(100);
    CHECK(reads(idle) == inquiry::most_at_once);
    asking_client busy;
    next_in_line next;
    busy.own->run([&] { busy.core->lease_keeper().expect(next); });
    const auto few = busy.ask_for(100);
    CHECK(reads(busy) == 8);
    idle.own->run([&] { all->cancel(); });
    busy.own->run([&] {
      few->cancel();
      busy.core->lease_keeper().remove(next);
    });
  }

  TEST_CASE("nor more than a megabyte of answers, once it is known how large they are") {
    asking_client w;
    const auto asked = w.ask_for(120);
    w.answer_one(1024 * 1024);
    while (w.opener->sent.size() > 1) w.answer_one(1024 * 1024);
    std::size_t answers = 0;
    while (!asked->over()) {
      CHECK(w.opener->sent.size() == 1);
      w.answer_one(1024 * 1024);
      ++answers;
    }
    CHECK(answers >= 120 - inquiry::most_at_once);  // all but the first ones, sent before that was known
  }

  TEST_CASE("what another part of the client asks for meanwhile comes behind those under way, not behind all") {
    asking_client w;
    const auto asked = w.ask_for(1000);
    for (int i = 0; i < 100; ++i) w.answer_one();
    w.ask({.kind = operation::transact, .steps = {{.path = "/a"}}});
    std::size_t before = 0;
    while (w.opener->sent[before].what.kind != operation::transact) ++before;
    CHECK(before == inquiry::most_at_once);
    w.own->run([&] { asked->cancel(); });
  }

  TEST_CASE("when time is up it is over, and what is late is forgotten") {
    asking_client w;
    const auto asked = w.ask_for(1000, 1s);
    for (int i = 0; i < 100; ++i) w.answer_one();
    w.advance(1s);
    CHECK(asked->over());
    CHECK_FALSE(asked->wait());
    const auto is_read = [](const auto& each) { return each.what.kind == operation::get; };
    const auto& sent = w.opener->sent;
    CHECK(std::count_if(sent.begin(), sent.end(), is_read) == inquiry::most_at_once);
    while (!sent.empty()) w.answer_one();
    CHECK(sent.empty());  // nor is anything asked for afterwards
  }

  TEST_CASE("after a lost connection only what has not been answered is asked for again") {
    asking_client w;
    const auto asked = w.ask_for(100);
    for (int i = 0; i < 90; ++i) w.answer_one();
    w.opener->sent.clear();
    w.opener->disconnects();
    w.advance(1s);
    w.opener->connects({.id = 7, .timeout = 4s});
    w.advance(1ms);
    std::size_t answers = 0;
    while (!asked->over() && !w.opener->sent.empty()) {
      if (w.opener->sent.front().what.kind == operation::get) ++answers;
      w.answer_one();
    }
    CHECK(asked->over());
    CHECK(answers == 10);
    CHECK(asked->wait()->size() == 100);
  }

  TEST_CASE("the client is closed while no server answers: it is over at once") {
    asking_client w;
    const auto asked = w.ask_for(100);
    w.answer_one();
    w.own->run([&] { w.core->close([] {}); });
    w.advance(0s);
    REQUIRE(asked->over());
    CHECK(error_of([&] { (void)asked->wait(); }) == errc::closed);
    w.opener->answers_everything();
    for (const auto& each : w.opener->closings) each();
  }

  TEST_CASE("one that no caller waits for goes with the client, also without a connection") {
    asking_client w;
    w.opener->disconnects();
    const std::weak_ptr<inquiry> asked = w.ask_for(1);
    REQUIRE_FALSE(asked.expired());
    w.own->run([&] { w.core->close([] {}); });
    CHECK(asked.expired());
    for (const auto& each : w.opener->closings) each();
  }

  TEST_CASE("a list is asked for again together with its barrier") {
    asking_client w;
    const auto asked = w.start({barrier("/q"), {.kind = operation::children, .path = "/q"}});
    w.answer_one();
    w.opener->sent.clear();
    w.opener->disconnects();
    w.advance(1s);
    w.opener->connects({.id = 7, .timeout = 4s});
    w.advance(1ms);
    std::vector<operation> again;
    for (const auto& each : w.opener->sent) {
      const auto& path = each.what.steps.empty() ? each.what.path : each.what.steps.front().path;
      if (path == "/q") again.push_back(each.what.kind);
    }
    CHECK(again == std::vector{operation::transact, operation::children});
    w.opener->answers_everything();
    CHECK(asked->wait()->size() == 2);
  }
}

}  // namespace latchkey::testing
