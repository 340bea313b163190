// SPDX-License-Identifier: Apache-2.0
/// The actors of tests: one that fails ends the others. No server is needed.

#include "support/actors.hpp"

#include <stdexcept>

#include <doctest/doctest.h>
#include <latchkey/mutex.hpp>

#include "support/client.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("actors") {
  LATCHKEY_TEST_CASES(
      "an assertion that fails in one actor ends those that wait for a signal, for a lock, or in a poll" *
          doctest::expected_failures(1),
      who, all_callers()) {
    client nowhere{"127.0.0.1:1"};
    mutex lock{nowhere, "/of/actors"};
    signal never;
    group_of_actors all{who};
    all.start([&] { never.wait(); });
    all.start([&] { lock.lock(); });
    all.start([&] {
      for (;;) pause();
    });
    all.start([&] { REQUIRE_MESSAGE(false, "the one failure that is expected of this test"); });
    all.join();
  }

  LATCHKEY_TEST_CASES("join() throws what the first actor that failed has thrown, and the next actors start afresh",
                      who, all_callers()) {
    {
      signal never;
      group_of_actors all{who};
      all.start([&] { never.wait(); });
      all.start([] { throw std::logic_error{"on purpose"}; });
      CHECK_THROWS_WITH_AS(all.join(), "on purpose", std::logic_error);
    }
    client nowhere{"127.0.0.1:1"};
    signal comes;
    group_of_actors next{who};
    next.start([&] { comes.wait(); });
    next.start([&] { comes.set(); });
    next.join();
    CHECK_FALSE(nowhere.wait_for_connection(std::chrono::nanoseconds{1}));  // which throws when it is closed
  }

  LATCHKEY_TEST_CASES("a failure ends the actors of actors too", who, all_callers()) {
    signal never;
    signal begun;
    group_of_actors all{who};
    all.start([&] {
      group_of_actors inner{who};
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

  LATCHKEY_TEST_CASES("a test that fails while its actors wait ends them", who, all_callers()) {
    const auto test = [who] {
      signal never;
      group_of_actors all{who};
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
