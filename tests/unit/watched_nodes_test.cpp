// SPDX-License-Identifier: Apache-2.0
/// What a cache of sequencers knows of nodes: exact situations.

#include "recipes/sequencer/watched_nodes.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::reply_code;
using detail::watched_nodes;

/// The first client asks about a node of another one.
struct asking_world : calm_world {
  const std::shared_ptr<watched_nodes> places = std::make_shared<watched_nodes>(one.core());
  std::string node;

  asking_world() {
    ensemble.create("/q");
    node = intrude("-lock-", 0);
    time.run_for(100ms);
    one.connector().forget_sent();
  }

  std::optional<bool> known() {
    return one.run([&] { return places->known(node); });
  }
  /// @pre nothing is known
  std::shared_ptr<watched_nodes::caller> ask() {
    return one.run([&] { return places->ask(node); });
  }
  bool looks_valid() {
    if (const auto answer = known()) return *answer;
    const auto who = ask();
    time.run_for(100ms);
    return who->there;
  }
  std::uint64_t sent(request_kind kind) { return one.connector().sent(kind); }
  std::size_t size() {
    return one.run([&] { return places->size(); });
  }
  std::vector<std::string> watched() {
    return one.run([&] { return one.core()->session().watched_paths(); });
  }
  bool is_connected(bool wanted) {
    return eventually([&] { return one.connected() == wanted; });
  }
};

constexpr std::size_t half_of_the_list = 256 * 1024;  // of watches

}  // namespace

TEST_SUITE("watched places") {
  TEST_CASE("the first question is one check and one read, further ones are none") {
    asking_world w;
    CHECK(w.looks_valid());
    for (int i = 0; i < 100; ++i) CHECK(w.known() == true);
    CHECK(w.sent(request_kind::check) == 1);
    CHECK(w.sent(operation::get) == 1);
    CHECK(w.ensemble.watches() == 1);
  }

  TEST_CASE("calls that ask at the same time share the request, and one that leaves does not stop it") {
    asking_world w;
    REQUIRE(w.known() == std::nullopt);
    const std::vector callers{w.ask(), w.ask(), w.ask()};
    w.one.run([&] { w.places->leave(w.node, callers[0]); });
    w.time.run_for(100ms);
    CHECK_FALSE(callers[0]->there);
    CHECK(callers[1]->there);
    CHECK(callers[2]->there);
    CHECK(w.sent(request_kind::check) == 1);
    CHECK(w.sent(operation::get) == 1);
    CHECK(w.known() == true);
  }

  TEST_CASE("a node that has just been created is there, though the server of the session does not know it yet") {
    asking_world w;
    for (unsigned i = 0; i < w.ensemble.servers(); ++i) w.ensemble.lag(i, {20ms, 30ms});
    w.node = w.intrude("-lock-", 1);
    CHECK(w.looks_valid());
    CHECK(w.known() == true);
  }

  TEST_CASE("a node that an operator deletes is known to be gone as soon as the watch tells") {
    asking_world w;
    REQUIRE(w.looks_valid());
    REQUIRE(w.ensemble.remove(w.node) == reply_code::ok);
    w.time.run_for(5ms);
    CHECK(w.size() == 0);
    CHECK_FALSE(w.looks_valid());
    CHECK(w.size() == 0);
    CHECK(w.one.unfinished().empty());
  }

  TEST_CASE("a node that is deleted while it is asked about is not remembered") {
    for (auto moment = 0us; moment <= 5000us; moment += 50us) {
      CAPTURE(moment.count());
      asking_world w;
      w.ask();
      w.time.run_for(moment);
      REQUIRE(w.ensemble.remove(w.node) == reply_code::ok);
      w.time.run_for(100ms);
      CHECK(w.size() == 0);
      CHECK_FALSE(w.looks_valid());
      CHECK(w.one.unfinished().empty());
    }
  }

  TEST_CASE("a node whose data changes is asked about again") {
    asking_world w;
    REQUIRE(w.looks_valid());
    w.ensemble.change(w.node, "__REVOKE__");
    w.time.run_for(5ms);
    CHECK(w.known() == std::nullopt);
    CHECK(w.looks_valid());
    CHECK(w.known() == true);
    CHECK(w.sent(request_kind::check) == 2);
    CHECK(w.sent(operation::get) == 2);
  }

  TEST_CASE("without a connection nothing looks valid, and afterwards the watch is still there") {
    asking_world w;
    REQUIRE(w.looks_valid());
    w.one.connector().cut();
    REQUIRE(w.is_connected(false));
    CHECK(w.known() == false);
    w.one.connector().heal();
    REQUIRE(w.is_connected(true));
    CHECK(w.known() == std::nullopt);  // no answer yet
    w.one.connector().forget_sent();
    CHECK(w.looks_valid());
    CHECK(w.known() == true);
    CHECK(w.sent(request_kind::check) == 1);
    CHECK(w.sent(operation::get) == 0);
  }

  TEST_CASE("while the server says nothing, what it has said is worth something for a third of the session timeout") {
    asking_world w;
    REQUIRE(w.looks_valid());
    w.time.run_for(1min);
    CHECK(w.known() == true);
    w.one.connector().cut();
    w.time.run_for(w.one.session_timeout() / 8);
    CHECK(w.known() == true);
    w.time.run_for(w.one.session_timeout() / 4);
    CHECK(w.one.connected());
    CHECK(w.known() == std::nullopt);
    const auto who = w.ask();
    w.time.run_for(1s);
    CHECK_FALSE(who->there);
  }

  TEST_CASE("a deletion without a connection is known when that is back") {
    asking_world w;
    REQUIRE(w.looks_valid());
    w.one.connector().cut();
    REQUIRE(w.is_connected(false));
    REQUIRE(w.ensemble.remove(w.node) == reply_code::ok);
    w.one.connector().heal();
    REQUIRE(w.is_connected(true));
    CHECK(w.known() != true);
    CHECK_FALSE(w.looks_valid());
    w.time.run_for(100ms);
    CHECK(w.known() != true);
    CHECK(w.size() == 0);
  }

  TEST_CASE("a new session begins with nothing") {
    asking_world w;
    REQUIRE(w.looks_valid());
    const auto before = w.session(w.one);
    w.ensemble.expire(before);
    REQUIRE(w.eventually([&] { return w.one.connected() && w.session(w.one) != before; }));
    w.time.run_for(100ms);
    CHECK(w.known() == std::nullopt);
    CHECK(w.size() == 0);
    CHECK(w.looks_valid());
    CHECK(w.sent(request_kind::check) == 2);
    CHECK(w.sent(operation::get) == 2);
  }

  TEST_CASE("a lost answer is no yes, and what has no watch is not remembered") {
    for (const request_kind kind : {request_kind::check, request_kind{operation::get}}) {
      for (const auto how : {trap::lost_before_effect, trap::lost_after_effect}) {
        for (const bool gone : {false, true}) {
          CAPTURE(kind.index());
          CAPTURE(static_cast<int>(how));
          CAPTURE(gone);
          asking_world w;
          if (gone) REQUIRE(w.ensemble.remove(w.node) == reply_code::ok);
          w.one.connector().set_trap(kind, how);
          const auto who = w.ask();
          w.time.run_for(1s);
          CHECK_FALSE(who->there);
          CHECK(w.size() == 0);
          CHECK(w.looks_valid() == !gone);
          CHECK(w.known() == (gone ? std::nullopt : std::optional{true}));
        }
      }
    }
  }

  TEST_CASE("a session that ends while a node is asked about says nothing of the node") {
    asking_world w;
    const auto who = w.ask();
    w.ensemble.expire(w.session(w.one));
    w.time.run_for(5s);
    CHECK_FALSE(who->there);
    CHECK_FALSE(who->failed);
    CHECK(w.looks_valid());
  }

  TEST_CASE("a server that shows a node which is gone is not believed, and no watches pile up") {
    asking_world w;
    w.lose_removal(w.node);
    REQUIRE(w.ensemble.remove(w.node) == reply_code::ok);
    for (int i = 0; i < 3; ++i) CHECK_FALSE(w.looks_valid());
    CHECK(w.size() == 0);
    CHECK(w.watched().empty());
  }

  TEST_CASE("nodes beyond the budget of watches are asked about each time, and have the right answer") {
    asking_world w;
    std::vector<std::string> nodes;
    w.ensemble.create("/" + std::string(4000, 'x'));
    for (int i = 0; i < 80; ++i) {
      nodes.push_back("/" + std::string(4000, 'x') + "/-lock-00000000" + std::to_string(10 + i));
      REQUIRE(w.ensemble.create(nodes.back()) == reply_code::ok);
    }
    for (const auto& each : nodes) {
      w.node = each;
      CHECK(w.looks_valid());
    }
    CHECK(w.size() == half_of_the_list / nodes[0].size());
    w.one.connector().forget_sent();
    for (int i = 0; i < 3; ++i) CHECK(w.looks_valid());
    CHECK(w.sent(request_kind::check) == 3);
    CHECK(w.sent(operation::get) == 0);
    w.ensemble.remove(nodes[0]);
    w.time.run_for(10ms);
    CHECK(w.looks_valid());
    CHECK(w.known() == true);  // there is room for it now
  }

  TEST_CASE("a client may ask about a node of its own, and both learn of the deletion") {
    asking_world w;
    simulated_lock own{w.one, "/q", {lock_family::turns}};
    w.ensemble.remove(w.node);
    REQUIRE(w.ends(own.enter(1, contender_kind::lock), outcome::granted));
    const auto held = own.current(1, contender_kind::lock);
    w.time.run_for(100ms);
    w.node = static_cast<calm_world&>(w).node(held);
    REQUIRE(w.looks_valid());
    w.ensemble.remove(w.node);
    w.time.run_for(10ms);
    CHECK(held.loss() == loss_reason::node_deleted);
    CHECK_FALSE(w.looks_valid());
  }

  TEST_CASE("a refusal and a closed client are errors") {
    asking_world w;
    w.ensemble.forbid(request_kind::check, w.node);
    const auto who = w.ask();
    w.time.run_for(100ms);
    REQUIRE(who->failed);
    CHECK(who->failed->code == errc::not_authorized);
    CHECK(who->failed->path == w.node);
    CHECK_FALSE(who->there);
    w.ensemble.allow_everything();
    w.one.close();
    REQUIRE(w.eventually([&] { return w.one.closed(); }));
    CHECK_THROWS_AS(w.known(), error);
  }

  TEST_CASE("of a cache that is destroyed the session remembers nothing, however long the node lives") {
    asking_world w;
    REQUIRE(w.looks_valid());
    CHECK(w.watched() == std::vector{w.node});
    w.one.run([&] { w.places->end(); });
    CHECK(w.watched().empty());
  }

  TEST_CASE("a cache that is destroyed while it asks leaves nothing behind but its watch") {
    asking_world w;
    auto places = std::make_shared<watched_nodes>(w.one.core());
    const auto who = w.one.run([&] { return places->ask(w.node); });
    places.reset();
    w.time.run_for(100ms);
    CHECK_FALSE(who->there);
    CHECK(w.watched() == std::vector{w.node});
    w.ensemble.remove(w.node);
    w.time.run_for(10ms);
    CHECK(w.one.unfinished().empty());
  }
}

}  // namespace latchkey::testing
