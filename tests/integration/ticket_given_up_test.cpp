// SPDX-License-Identifier: Apache-2.0
/// Tickets that are cancelled, destroyed, assigned to or spent.

#include <latchkey/ticket.hpp>

#include <atomic>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/held_by_another.hpp"
#include "support/reached.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("ticket") {
  LATCHKEY_TEST_CASES("cancel() from elsewhere ends a wait and gives the place up", who, all_callers()) {
    held_by_another here;
    for (const bool for_ever : {true, false}) {
      CAPTURE(for_ever);
      auto place = here.lock.enqueue();
      std::atomic<bool> waits{false};
      group_of_actors all{who};
      all.start([&] {
        waits = true;
        bool has_it = false;
        const auto ended = error_of([&] {
          if (for_ever) {
            place.wait();
            has_it = true;
          } else {
            has_it = place.wait_for(1h);  // in no CHECK, that would take the exception for a failure
          }
        });
        CHECK_FALSE(has_it);
        // Of two threads the other one may be quicker: then there is nothing to wait for. Of fibers it runs when we
        // wait.
        const bool too_late = who == callers::threads && ended == not_permitted;
        const auto expected = for_ever ? std::make_error_code(std::errc::operation_canceled) : std::error_code{};
        if (!too_late) CHECK(ended == expected);
        CHECK(place.spent());
        CHECK(error_of([&] { place.wait(); }) == not_permitted);
      });
      all.start([&] {
        REQUIRE(eventually([&] { return waits.load(); }));
        place.cancel();
        place.cancel();
      });
      all.join();
      CHECK(queued(here.path, 1));
    }
    here.held.release();
    CHECK(leaves_nothing(here.path));
  }

  TEST_CASE("places that have just been given up are ahead of nobody") {
    held_by_another here;
    std::vector<ticket> others;
    for (int i = 0; i < 20; ++i) others.push_back(here.lock.enqueue());
    auto last = here.lock.enqueue();
    CHECK(last.ahead() == 21);
    others.clear();  // more deletions than are sent at once
    CHECK(last.ahead() == 1);
    last.cancel();
    here.held.release();
    CHECK(leaves_nothing(here.path));
  }

  TEST_CASE("tickets that are abandoned, assigned to or moved from leave nothing") {
    held_by_another here;
    {
      const auto abandoned = here.lock.enqueue();
      CHECK(queue_at(here.path).size() == 2);
    }
    CHECK(queued(here.path, 1));
    auto first = here.lock.enqueue();
    auto second = here.lock.enqueue();
    CHECK(queue_at(here.path).size() == 3);
    first = std::move(second);
    CHECK(queued(here.path, 2));
    CHECK(second.spent());
    CHECK(first.ahead() == 1);
    auto third = std::move(first);
    CHECK(first.spent());
    CHECK(third.ahead() == 1);
    here.held.release();
    third.wait();
    here.lock.unlock();
    CHECK(leaves_nothing(here.path));
  }

  TEST_CASE("a spent ticket can only be cancelled") {
    client owner{servers().connect_string(), quick()};
    const auto path = fresh_path();
    fair_mutex lock{owner, path};
    ticket nothing;
    auto used = lock.enqueue();
    used.wait();
    lock.unlock();
    auto cancelled = lock.enqueue();
    cancelled.cancel();
    for (auto* const each : {&nothing, &used, &cancelled}) {
      CHECK(each->spent());
      CHECK_FALSE(each->place_lost());
      CHECK(error_of([&] { each->ahead(); }) == not_permitted);
      CHECK(error_of([&] { each->wait(); }) == not_permitted);
      CHECK(error_of([&] { (void)each->wait_for(1h); }) == not_permitted);
      CHECK(error_of([&] { each->requeue(); }) == not_permitted);
      each->cancel();
    }
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("cancelling a ticket in the middle promotes nobody", who, all_callers()) {
    for (const bool neighbours : {true, false}) {
      CAPTURE(neighbours);
      held_by_another here;
      client third{servers().connect_string(), quick()};
      fair_mutex elsewhere{third, here.path};
      group_of_actors all{who};
      all.start([&] {
        auto first = here.lock.enqueue();
        auto middle = neighbours ? here.lock.enqueue() : elsewhere.enqueue();
        auto last = here.lock.enqueue();
        middle.cancel();
        REQUIRE(queued(here.path, 3));
        CHECK(last.ahead() == 2);
        CHECK_FALSE(last.wait_for(20ms));
        here.held.release();
        REQUIRE(queued(here.path, 2));
        CHECK_FALSE(last.wait_for(20ms));  // the turn is the first one's, who does not wait for it yet
        CHECK(first.wait_for(patience()));
        CHECK(last.ahead() == 1);
        CHECK(here.lock.held());
        here.lock.unlock();
        CHECK(last.wait_for(patience()));
        here.lock.unlock();
      });
      all.join();
      CHECK(leaves_nothing(here.path));
    }
  }
}

}  // namespace latchkey::testing
