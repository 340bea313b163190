// SPDX-License-Identifier: Apache-2.0
/// The actors of tests: one that fails ends the others. No server is needed.

#include "support/actors.hpp"

#include <stdexcept>

#include <doctest/doctest.h>
#include <latchkey/mutex.hpp>

#include "support/client.hpp"

namespace latchkey::testing {

TEST_SUITE("actors") {
  TEST_CASE_TEMPLATE(
      "an assertion that fails in one actor ends those that wait for a signal, for a lock, or in a poll" *
          doctest::expected_failures(1),
      actors, LATCHKEY_ACTORS) {
    client nowhere{"127.0.0.1:1"};
    mutex lock{nowhere, "/of/actors"};
    signal never;
    actors all;
    all.start([&] { never.wait(); });
    all.start([&] { lock.lock(); });
    all.start([&] {
      for (;;) pause();
    });
    all.start([&] { REQUIRE_MESSAGE(false, "the one failure that is expected of this test"); });
    all.join();
  }

  TEST_CASE_TEMPLATE("join() throws what the first actor that failed has thrown, and the next actors start afresh",
                     actors, LATCHKEY_ACTORS) {
    {
      signal never;
      actors all;
      all.start([&] { never.wait(); });
      all.start([] { throw std::logic_error{"on purpose"}; });
      CHECK_THROWS_WITH_AS(all.join(), "on purpose", std::logic_error);
    }
    client nowhere{"127.0.0.1:1"};
    signal comes;
    actors next;
    next.start([&] { comes.wait(); });
    next.start([&] { comes.set(); });
    next.join();
    CHECK_FALSE(nowhere.wait_for_connection(std::chrono::nanoseconds{1}));  // which throws when it is closed
  }

  TEST_CASE_TEMPLATE("a failure ends the actors of actors too", actors, LATCHKEY_ACTORS) {
    signal never;
    signal begun;
    actors all;
    all.start([&] {
      actors inner;
      inner.start([&] {
        begun.set();
        never.wait();
      });
      inner.join();
    });
    all.start([&] {
      begun.wait();
      throw std::logic_error{"on purpose"};
    });
    CHECK_THROWS_WITH_AS(all.join(), "on purpose", std::logic_error);
  }

  TEST_CASE_TEMPLATE("a test that fails while its actors wait ends them", actors, LATCHKEY_ACTORS) {
    const auto test = [] {
      signal never;
      actors all;
      all.start([&] { never.wait(); });
      throw std::logic_error{"on purpose"};
    };
    CHECK_THROWS_WITH_AS(test(), "on purpose", std::logic_error);
  }

  TEST_CASE("who waits for an actor that failed learns why") {
    signal never;
    on_threads all;
    all.start([] { throw std::logic_error{"on purpose"}; });
    CHECK_THROWS_WITH_AS(never.wait(), "another actor of the test has failed: on purpose", called_off);
    all.wait();
  }
}

}  // namespace latchkey::testing
