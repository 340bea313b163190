// SPDX-License-Identifier: Apache-2.0
/// Who is told of a release by datagram, and who believes it.

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/two_clients.hpp"

namespace latchkey::detail {

using namespace peer_tests;

TEST_SUITE("peers") {
  TEST_CASE("a subscriber is told once") {
    two_clients w;
    w.subscribe();
    w.deliver();
    CHECK(w.who.told.empty());
    w.holder.all->waiting().tell(w.first);
    const auto sent = w.holder.port->sent;
    REQUIRE(sent.size() == 1);
    w.deliver();
    CHECK(w.who.told == std::vector{w.first});
    w.waiter.port->receive("holder", sent.front().bytes);
    CHECK(w.who.told.size() == 1);
  }

  TEST_CASE("a late subscriber is told at once, within a minute") {
    two_clients w;
    w.holder.all->waiting().tell(w.first);
    w.holder.all->remove(w.first);
    w.subscribe();
    w.deliver();
    CHECK(w.who.told.size() == 1);
    w.now += waiting_peers::closed_for - 1ms;
    w.subscribe();
    w.deliver();
    CHECK(w.who.told.size() == 2);
    w.now += 1ms;
    w.subscribe();
    w.deliver();
    CHECK(w.who.told.size() == 2);
  }

  TEST_CASE("a late subscriber is told of the last 64 releases only") {
    for (const auto others : {waiting_peers::most_closed - 1, waiting_peers::most_closed}) {
      two_clients w;
      w.holder.all->waiting().tell(w.first);
      w.holder.all->remove(w.first);
      for (int i = 10; i < 10 + static_cast<int>(others); ++i) {
        w.holder.all->waiting().add(entry(i));
        w.holder.all->waiting().tell(entry(i));
        w.holder.all->remove(entry(i));
      }
      w.subscribe();
      w.deliver();
      CHECK(w.who.told.size() == (others < waiting_peers::most_closed ? 1 : 0));
    }
  }

  TEST_CASE("an entry that left without a release is never reported as released") {
    two_clients w;
    w.subscribe();
    w.deliver();
    w.holder.all->remove(w.first);
    w.subscribe();
    w.deliver();
    w.advance(1s);
    CHECK(w.who.told.empty());
  }

  TEST_CASE("the advert of one entry applies to all entries of its client and path, and to no others") {
    two_clients w;
    w.waiter.all->awaited().subscribe(w.who, "/q", w.second, w.first);
    CHECK(w.waiter.port->sent.empty());
    w.waiter.all->awaited().learn("/q", w.first, *w.holder.all->advert(prefix));
    w.holder.all->waiting().add(entry(3));
    w.waiter.all->awaited().subscribe(w.who, "/q", entry(4), entry(3));
    CHECK(w.waiter.port->sent.size() == 1);
    w.waiter.all->awaited().learn("/q", entry(3), *w.holder.all->advert(prefix));
    w.waiter.all->awaited().subscribe(w.who, "/q", entry(4), entry(3));
    CHECK(w.waiter.port->sent.size() == 1);  // it is the same
    w.waiter.all->awaited().learn("/q", entry(3), {"holder, moved", w.holder.all->advert(prefix)->key});
    w.waiter.all->awaited().subscribe(w.who, "/q", entry(4), entry(3));
    CHECK(w.waiter.port->sent.size() == 2);
    w.waiter.port->sent.clear();
    w.waiter.all->awaited().subscribe(w.who, "/r", entry(5), entry(3));  // others may create entries there
    CHECK(w.waiter.port->sent.empty());
    const auto name_at = [](client& of, const char* path) { return "_c_" + of.all->unique_id(path) + "-lock-"; };
    const auto one = name_at(w.holder, "/a");
    CHECK(one != name_at(w.holder, "/a"));
    CHECK(w.holder.all->advert(one) == w.holder.all->advert(name_at(w.holder, "/a")));
    CHECK_FALSE(w.holder.all->advert(one) == w.holder.all->advert(name_at(w.holder, "/b")));
    w.waiter.all->awaited().learn("/q", one + "0000000001", *w.holder.all->advert(one));
    w.waiter.port->sent.clear();
    w.waiter.all->awaited().subscribe(w.who, "/q", entry(9), name_at(w.holder, "/a") + "0000000008");
    CHECK(w.waiter.port->sent.size() == 1);
    w.waiter.all->awaited().subscribe(w.who, "/q", entry(9), name_at(w.waiter, "/a") + "0000000008");
    CHECK(w.waiter.port->sent.size() == 1);
  }

  TEST_CASE("a subscriber that asks before the holder knows its own entry is answered, and told later") {
    two_clients w;
    w.holder.all->remove(w.first);
    w.subscribe();
    w.subscribe(3);
    w.ask();
    w.advance(1s);
    CHECK(w.waiter.all->counts().given_up == 0);
    w.holder.all->waiting().add(w.first);
    w.holder.all->waiting().tell(w.first);
    w.deliver();
    CHECK(w.who.told.size() == 1);
  }

  TEST_CASE("the last 64 early subscribers are kept") {
    for (const auto others : {waiting_peers::most_early - 1, waiting_peers::most_early}) {
      two_clients w;
      w.holder.all->remove(w.first);
      w.subscribe();
      w.deliver();
      for (std::size_t i = 0; i < others; ++i) {
        const auto number = static_cast<int>(10 + i);
        w.subscribe(w.who, number + 1, entry(number));
      }
      w.deliver();
      w.holder.all->waiting().add(w.first);
      w.holder.all->waiting().tell(w.first);
      w.deliver();
      CHECK(w.who.told.size() == (others < waiting_peers::most_early ? 1 : 0));
    }
  }

  TEST_CASE("an early subscriber is kept for a minute, and takes one place however often it asks") {
    for (const bool late : {false, true}) {
      CAPTURE(late);
      two_clients w;
      w.holder.all->remove(w.first);
      w.subscribe();
      w.deliver();
      w.advance(late ? waiting_peers::early_for : waiting_peers::early_for - 1s);
      w.holder.all->waiting().add(w.first);
      CHECK(w.holder.all->waiting().tell(w.first) == !late);
    }
    two_clients w;
    w.holder.all->remove(w.first);
    w.subscribe();
    w.deliver();
    for (std::size_t i = 0; i < waiting_peers::most_early; ++i) {
      w.waiter.all->awaited().unsubscribe(entry(11));
      w.subscribe(w.who, 11, entry(10));
      w.deliver();
    }
    w.holder.all->waiting().add(w.first);
    CHECK(w.holder.all->waiting().tell(w.first));
  }

  TEST_CASE("a waiter learns that it is next from the answer, or from the grant after a long wait") {
    two_clients w;
    w.subscribe();
    w.ask();
    w.advance(990ms);
    w.holder.all->waiting().hold(w.first, 1s);
    CHECK(w.holder.port->sent.empty());  // its lease is fresh
    w.advance(1ms);
    w.holder.all->waiting().hold(w.first, 1s);
    w.deliver();
    CHECK(w.who.next == 1);
    w.subscribe();
    w.ask();
    CHECK(w.who.next == 2);
    CHECK(w.who.told.empty());
  }

  TEST_CASE("only the subscriber with the largest number is told: the others have left") {
    two_clients w;
    w.subscribe(3);
    const auto late = w.waiter.port->sent;
    w.deliver();
    listener fifth;
    w.subscribe(fifth, 5, w.first);
    w.deliver();
    w.holder.port->receive("waiter", late.front().bytes);  // a replay
    w.holder.all->waiting().tell(w.first);
    w.deliver();
    CHECK(w.who.told.empty());
    CHECK(fifth.told.size() == 1);
  }

  TEST_CASE("a subscriber that is not behind the entry, or has another key, is ignored") {
    two_clients w;
    w.subscribe(1);
    w.deliver();
    w.waiter.all->awaited().learn("/q", w.first, {"holder", {}});
    w.waiter.all->awaited().subscribe(w.who, "/q", entry(2), w.first);
    w.deliver();
    CHECK(w.holder.port->sent.empty());
    w.holder.all->waiting().tell(w.first);
    w.deliver();
    CHECK(w.who.told.empty());
  }

  TEST_CASE("a release is accepted only while its entry is waited for, with the current nonce and key") {
    two_clients w;
    w.subscribe();
    w.deliver();
    w.holder.all->waiting().tell(w.first);
    const auto of_first = w.holder.port->sent.front();
    w.holder.port->sent.clear();
    SUBCASE("subscribed anew") {
      w.subscribe();
      w.waiter.port->receive("holder", of_first.bytes);
    }
    SUBCASE("waits for another one") {
      w.subscribe(w.who, 2, entry(0));
      w.waiter.port->receive("holder", of_first.bytes);
    }
    SUBCASE("waits no more") {
      w.waiter.all->awaited().unsubscribe(w.second);
      w.waiter.port->receive("holder", of_first.bytes);
    }
    SUBCASE("of another key") {
      const auto said = *decode(of_first.bytes);
      w.waiter.port->receive("holder", encode(said, {}));
    }
    CHECK(w.who.told.empty());
  }

  TEST_CASE("the first message is not answered: the release mostly comes soon") {
    two_clients w;
    w.subscribe();
    w.deliver();
    w.advance(10ms);
    REQUIRE(w.waiter.port->sent.size() == 1);
    CHECK(w.waiter.port->sent.front().what() == verb::ask);
    CHECK(w.waiter.all->counts().acknowledged == 0);
    w.deliver();
    CHECK(w.waiter.all->counts().acknowledged == 1);
  }

  TEST_CASE("a silent address is asked three times, and again after 30 s") {
    two_clients w;
    w.subscribe();
    auto& sent = w.waiter.port->sent;
    CHECK(sent.size() == 1);
    w.advance(10ms);
    CHECK(sent.size() == 2);
    w.advance(10ms);
    CHECK(sent.size() == 3);
    w.advance(1s);
    CHECK(sent.size() == 3);
    w.subscribe(4);
    CHECK(sent.size() == 3);
    w.advance(awaited_peers::silent_for - 979ms);
    CHECK(sent.size() == 5);  // by both, of which one has to wait no longer
    w.deliver();
    w.holder.all->waiting().tell(w.first);
    w.deliver();
    CHECK(w.who.told.size() == 1);
  }

  TEST_CASE("one that answers late is silent no more") {
    two_clients w;
    w.subscribe();
    w.advance(1s);
    w.deliver();
    CHECK(w.waiter.all->counts().acknowledged == 1);
    w.subscribe(4);
    CHECK(w.waiter.port->sent.size() == 1);
  }

  TEST_CASE("an acknowledged subscription is repeated every 20 s for firewalls") {
    two_clients w;
    w.subscribe();
    w.ask();
    w.advance(19s);
    CHECK(w.waiter.port->sent.empty());
    w.advance(1s);
    CHECK(w.waiter.port->sent.size() == 1);
    w.deliver();
    w.holder.all->waiting().tell(w.first);
    w.deliver();
    CHECK(w.who.told.size() == 1);
    CHECK_FALSE(w.waiter.own.next_timer());
  }

  TEST_CASE("a malformed message is not answered") {
    two_clients w;
    w.subscribe();
    const auto bytes = w.waiter.port->sent.front().bytes;
    for (std::size_t size = 0; size < bytes.size(); ++size) w.holder.port->receive("x", bytes.substr(0, size));
    w.holder.port->receive("x", std::string(1024, '\1'));
    CHECK(w.holder.port->sent.empty());
  }
}

}  // namespace latchkey::detail
