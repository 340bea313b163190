// SPDX-License-Identifier: Apache-2.0
/// When a release is expected soon by datagram.

#include <doctest/doctest.h>

#include "support/two_clients.hpp"

namespace latchkey::detail {

using namespace peer_tests;

TEST_SUITE("peers") {
  TEST_CASE("a release is expected soon after one that took less than 10 ms, and no more after one that took longer") {
    two_clients w;
    CHECK_FALSE(w.subscribe());
    w.deliver();
    w.holder.all->waiting().tell(w.first);
    w.deliver();
    CHECK(w.who.told.size() == 1);
    w.holder.all->waiting().add(entry(3));
    CHECK(w.subscribe(w.who, 4, entry(3)));
    w.deliver();
    w.advance(10ms - 1us);
    CHECK(w.who.unreleased == 0);
    w.advance(1us);
    CHECK(w.who.unreleased == 1);
    w.deliver();
    w.holder.all->waiting().tell(entry(3));
    w.deliver();
    CHECK(w.who.told.size() == 2);
    w.advance(1min);
    CHECK(w.who.unreleased == 1);
    w.holder.all->waiting().add(entry(5));
    CHECK_FALSE(w.subscribe(w.who, 6, entry(5)));
  }

  TEST_CASE("it is no longer expected when the entry ahead is said to hold") {
    two_clients w;
    w.subscribe();
    w.deliver();
    w.now += 1ms;
    w.holder.all->waiting().hold(w.first, 0ms);
    w.deliver();
    CHECK(w.who.next == 1);
    CHECK(w.who.unreleased == 1);
    w.advance(1min);
    CHECK(w.who.unreleased == 1);
    w.holder.all->waiting().add(entry(3));
    CHECK_FALSE(w.subscribe(w.who, 4, entry(3)));
  }

  TEST_CASE("it is expected at the same path only, whatever else is read there") {
    two_clients w;
    w.be_told();
    w.waiter.all->awaited().learn("/q", w.first, *w.holder.all->advert(prefix));
    w.waiter.all->awaited().learn("/r", w.first, *w.holder.all->advert(prefix));
    w.holder.all->waiting().add(entry(3));
    CHECK(w.subscribe(w.who, 4, entry(3)));
    CHECK_FALSE(w.waiter.all->awaited().subscribe(w.who, "/r", entry(6), entry(3)));
  }

  TEST_CASE("it is no longer expected when another subscription has found the address silent") {
    two_clients w;
    w.be_told();
    w.waiter.all->awaited().learn("/r", w.first, *w.holder.all->advert(prefix));
    listener other;
    w.waiter.all->awaited().subscribe(other, "/r", entry(4), w.first);
    w.advance(35ms);
    CHECK(w.subscribe());
    w.advance(5ms);
    CHECK(w.who.unreleased == 0);
    w.advance(5ms);
    CHECK(w.who.unreleased == 1);
  }

  TEST_CASE("it is not expected from an address that does not answer at another path") {
    two_clients w;
    w.be_told();
    w.waiter.all->awaited().learn("/r", w.first, *w.holder.all->advert(prefix));
    w.waiter.all->awaited().subscribe(w.who, "/r", entry(4), w.first);
    w.advance(1s);
    CHECK_FALSE(w.subscribe());
  }
}

}  // namespace latchkey::detail
