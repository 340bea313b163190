// SPDX-License-Identifier: Apache-2.0
/// The locks of keys: exact situations.

#include "recipes/keyed/key_table.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::cohort_options;
using detail::key_space;
using detail::key_table;

/// A table that is shut at the end of its scope.
struct table {
  simulated_client& client;
  const std::shared_ptr<key_table> keys;

  explicit table(simulated_client& own, cohort_options options = {}, std::uint32_t stripes = 0)
      : client{own}, keys{std::make_shared<key_table>(own.core(), key_space{"/keys", stripes}, std::move(options))} {
    keys->open();
  }
  ~table() { keys->shut(); }
  key_table::call enter(const std::string& key, std::uint64_t fiber = 1, detail::time_point until = detail::never) {
    return client.run([&] { return keys->enter(key, fiber, until); });
  }
  void leave(const key_table::call& of) {
    client.run([&] { of.lock->leave(); });
  }
  void cancel(const key_table::call& of) {
    client.run([&] { of.lock->cancel(of.me); });
  }
  std::size_t observers() {
    return client.run([&] { return client.core()->observers(); });
  }
};

struct keyed_world : calm_world {
  bool takes(const key_table::call& call) { return ends(call.me, outcome::granted); }
  std::size_t nodes(const std::string& key) { return ensemble.children("/keys/" + key).size(); }
};

}  // namespace

TEST_SUITE("key table") {
  TEST_CASE("callers of one key take turns, and those of different keys do not wait for each other") {
    keyed_world w;
    table keys{w.one};
    const auto first = keys.enter("a", 1);
    REQUIRE(w.takes(first));
    const auto second = keys.enter("a", 2);
    CHECK(second.lock == first.lock);
    const auto other = keys.enter("b", 3);
    REQUIRE(w.takes(other));
    CHECK(second.me->what == outcome::waiting);
    CHECK(keys.keys->size() == 2);
    keys.leave(first);
    REQUIRE(w.takes(second));
    CHECK(w.nodes("a") == 1);
    keys.leave(second);
    keys.leave(other);
    CHECK(keys.keys->size() == 0);
    CHECK(w.eventually([&] { return w.nodes("a") + w.nodes("b") == 0; }));
  }

  TEST_CASE("a key in use by another process is waited for") {
    keyed_world w;
    table keys{w.one};
    table others{w.two};
    const auto held = keys.enter("a");
    REQUIRE(w.takes(held));
    const auto waiting = others.enter("a");
    w.time.run_for(1s);
    CHECK(waiting.me->what == outcome::waiting);
    CHECK(w.ends(others.enter("a", 2, detail::at_once).me, outcome::refused));
    CHECK(others.keys->size() == 1);
    keys.leave(held);
    CHECK(w.takes(waiting));
    others.leave(waiting);
    CHECK(others.keys->size() == 0);
  }

  TEST_CASE("a lock goes with its last user, whatever becomes of the call") {
    keyed_world w;
    table keys{w.one};
    table others{w.two};
    const auto observers = keys.observers();
    const auto held = others.enter("a");
    REQUIRE(w.takes(held));
    SUBCASE("cancelled") {
      const auto call = keys.enter("a");
      w.time.run_for(1s);
      keys.cancel(call);
    }
    SUBCASE("timed out") {
      const auto call = keys.enter("a", 1, w.time.now() + 1s);
      CHECK(w.ends(call.me, outcome::refused));
    }
    SUBCASE("a try for a key that is held") { CHECK(w.ends(keys.enter("a", 1, detail::at_once).me, outcome::refused)); }
    SUBCASE("a try that is refused at once") {
      w.one.connector().cut();
      REQUIRE(w.eventually([&] { return !w.one.connected(); }));
      CHECK(keys.enter("b", 1, detail::at_once).me->what == outcome::refused);
      w.one.connector().heal();
    }
    SUBCASE("failed") {
      w.ensemble.forbid(operation::children, "/keys/b");
      CHECK(w.ends(keys.enter("b").me, outcome::failed));
    }
    SUBCASE("unlocked after its turn has gone round") {
      auto call = keys.enter("b", 1);
      REQUIRE(w.takes(call));
      for (std::uint64_t fiber = 2; fiber < 50; ++fiber) {
        const auto next = keys.enter("b", fiber);
        keys.leave(call);
        REQUIRE(w.takes(next));
        call = next;
      }
      keys.leave(call);
    }
    CHECK(keys.keys->size() == 0);
    CHECK(keys.observers() == observers);
    others.leave(held);
    CHECK(w.eventually([&] { return w.nodes("a") + w.nodes("b") == 0 && w.one.unfinished().empty(); }));
  }

  TEST_CASE("after a loss the lock stays until it is unlocked") {
    keyed_world w;
    table keys{w.one};
    const auto lost = keys.enter("a", 1);
    REQUIRE(w.takes(lost));
    w.ensemble.expire(w.session(w.one));
    REQUIRE(w.eventually([&] { return !w.one.run([&] { return static_cast<bool>(lost.lock->current()); }); }));
    const auto next = keys.enter("a", 2);
    w.time.run_for(10s);
    CHECK(next.me->what == outcome::waiting);
    CHECK(keys.keys->size() == 1);
    keys.leave(lost);
    REQUIRE(w.takes(next));
    keys.leave(next);
    CHECK(keys.keys->size() == 0);
  }

  TEST_CASE("a key that lingers is taken again without a request, and goes when that ends") {
    keyed_world w;
    table keys{w.one, {.linger = 10s}};
    keys.enter("a");
    const auto first = keys.enter("b");
    REQUIRE(w.takes(first));
    keys.leave(first);
    w.time.run_for(1s);
    w.one.connector().forget_sent();
    const auto again = keys.enter("b");
    CHECK(again.me->what == outcome::granted);
    CHECK(w.one.connector().sent() == 0);
    CHECK(again.lock == first.lock);
    keys.leave(again);
    SUBCASE("by time") { w.time.run_for(11s); }
    SUBCASE("by another contender") {
      table others{w.two};
      REQUIRE(w.takes(others.enter("b")));
    }
    SUBCASE("with the session") { w.ensemble.expire(w.session(w.one)); }
    SUBCASE("as an operator deletes its node") { w.ensemble.remove("/keys/b/" + w.ensemble.children("/keys/b").at(0)); }
    CHECK(w.eventually([&] { return keys.keys->size() == 1; }));  // of the key that is held
  }

  TEST_CASE("who comes back at once has the key again with one transaction, and the object then goes") {
    keyed_world w;
    table keys{w.one};
    std::weak_ptr<detail::cohort> lock;
    for (int i = 0; i < 10; ++i) {
      const auto call = keys.enter("a");
      REQUIRE(w.takes(call));
      lock = call.lock;
      keys.leave(call);
      CHECK(keys.keys->size() == 0);
    }
    CHECK(w.one.connector().sent(request_kind::requeue) == 7);  // it is believed after two
    w.time.run_for(1ms);
    const auto other = keys.enter("b");
    CHECK(lock.expired());
    REQUIRE(w.takes(other));
    keys.leave(other);
  }

  TEST_CASE("a key that is used again at once keeps its object") {
    keyed_world w;
    table keys{w.one};
    const auto first = keys.enter("a", 1);
    REQUIRE(w.takes(first));
    keys.leave(first);
    const auto again = keys.enter("a", 1);
    REQUIRE(w.takes(again));
    w.time.run_for(1ms);
    REQUIRE(w.takes(keys.enter("b", 2)));
    CHECK(keys.enter("a", 3).lock == again.lock);
  }

  TEST_CASE("a lock that ends within its own call lives as long as that call, on a machine that stalls") {
    keyed_world w;
    table keys{w.one, {.linger = 10s}};
    table others{w.two};
    std::function<void(const std::string& key)> end;
    SUBCASE("given up for a remote contender") {
      end = [&](const auto& key) {
        const auto other = others.enter(key);
        REQUIRE(w.takes(other));
        others.leave(other);
      };
    }
    SUBCASE("lost") {
      end = [&](const auto& key) {
        w.ensemble.remove("/keys/" + key + "/" + w.ensemble.children("/keys/" + key).at(0));
      };
    }
    w.ensemble.plan().stopped_at_clock = 1;
    for (int i = 0; i < 20; ++i) {
      const auto key = std::to_string(i);
      auto call = keys.enter(key);
      REQUIRE(w.takes(call));
      keys.leave(call);
      const std::weak_ptr lock = std::exchange(call, {}).lock;
      end(key);
      CHECK(w.eventually([&] { return keys.keys->size() == 0; }));
      CHECK_FALSE(lock.expired());
    }
  }

  TEST_CASE("closing the client fails those who wait, and the lock goes with its holder") {
    keyed_world w;
    table keys{w.one};
    const auto held = keys.enter("a", 1);
    REQUIRE(w.takes(held));
    const auto waiting = keys.enter("a", 2);
    const auto elsewhere = keys.enter("b", 3);
    w.one.close();
    CHECK(waiting.me->what == outcome::failed);
    CHECK(elsewhere.me->what == outcome::failed);
    CHECK(keys.keys->size() == 1);
    CHECK_THROWS_AS(keys.enter("c"), error);
    keys.leave(held);
    CHECK(keys.keys->size() == 0);
    CHECK(w.eventually([&] { return w.one.closed(); }));
  }

  TEST_CASE("destroying the table releases what is held and fails those who wait") {
    keyed_world w;
    key_table::call held;
    key_table::call waiting;
    {
      table keys{w.one};
      held = keys.enter("a", 1);
      REQUIRE(w.takes(held));
      waiting = keys.enter("a", 2);
    }
    CHECK(waiting.me->what == outcome::failed);
    CHECK(waiting.me->why->code == errc::lock_destroyed);
    CHECK(w.one.run([&] { return held.lock->current(); }) == grant{});
    CHECK(w.eventually([&] { return w.nodes("a") == 0 && w.one.unfinished().empty(); }));
  }
}

TEST_SUITE("keys and stripes") {
  TEST_CASE("keys have names of their own, or share those of stripes") {
    const key_space exact{"/keys", 0};
    CHECK(exact.name_of("order/17") == "order%2F17");
    CHECK(exact.path_of("order%2F17") == "/keys/order%2F17");
    CHECK_NOTHROW(detail::validate_path(exact.path_of(exact.name_of(std::string(200, '/')))));
    const key_space striped{"/keys", 64};
    CHECK(striped.name_of("foobar") == "40");  // 0x85944171f73967e8 % 64
    for (const auto& keys : {exact, striped}) {
      CHECK_THROWS_AS(keys.name_of(""), error);
      CHECK_THROWS_AS(keys.name_of(std::string(201, 'a')), error);
    }
    CHECK_NOTHROW(key_space("/" + std::string(3494, 'a'), 0));
    CHECK_THROWS_AS(key_space("/" + std::string(3495, 'a'), 0), error);
    CHECK_THROWS_AS(key_space("/", 0), error);
  }

  TEST_CASE("the first call of a process asks for the number of stripes along with its own requests") {
    keyed_world w;
    table first{w.one, {}, 64};
    const auto held = first.enter("7");
    REQUIRE(w.takes(held));
    CHECK(w.ensemble.data("/keys") == R"({"stripes":64})");
    table second{w.two, {}, 64};
    w.two.connector().forget_sent();
    const auto other = second.enter("9");
    REQUIRE(w.takes(other));
    CHECK(w.two.connector().sent(operation::get) == 1);
    second.leave(other);
    REQUIRE(w.eventually([&] { return w.nodes("9") == 0; }));
    REQUIRE(w.takes(second.enter("9")));
    CHECK(w.two.connector().sent(operation::get) == 1);
  }

  TEST_CASE("calls with another number of stripes fail, those that wait too, and leave nothing") {
    for (const std::uint32_t number : {0u, 16u}) {
      CAPTURE(number);
      keyed_world w;
      table first{w.one, {}, 64};
      const auto held = first.enter("7");
      REQUIRE(w.takes(held));
      table other{w.two, {}, number};
      const auto observers = other.observers();
      const auto waiting = other.enter("7");
      const auto beside = other.enter("8");
      REQUIRE(w.ends(waiting.me, outcome::failed));
      CHECK(waiting.me->why->code == errc::contract_mismatch);
      CHECK(beside.me->what == outcome::failed);
      CHECK(other.keys->size() == 0);
      CHECK(other.observers() == observers);
      CHECK(w.eventually([&] { return w.nodes("7") == 1 && w.nodes("8") == 0 && w.two.unfinished().empty(); }));
    }
  }
}

}  // namespace latchkey::testing
