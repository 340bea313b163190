// SPDX-License-Identifier: Apache-2.0
#include <latchkey/ticket.hpp>

#include <atomic>
#include <mutex>
#include <string>

#include <doctest/doctest.h>

#include "support/held_by_another.hpp"
#include "support/reached.hpp"

namespace latchkey::testing {

TEST_SUITE("ticket") {
  TEST_CASE_TEMPLATE("enqueue() returns with the place taken, and a wait that ends without the lock keeps it", actors,
                     LATCHKEY_ACTORS) {
    held_by_another here;
    actors all;
    all.start([&] {
      auto place = here.lock.enqueue();
      const auto queue = queue_at(here.path);
      CHECK(queue.size() == 2);
      CHECK_FALSE(place.spent());
      CHECK_FALSE(place.place_lost());
      CHECK(place.ahead() == 1);
      CHECK_FALSE(here.lock.held());
      CHECK_FALSE(place.wait_for(0s));
      CHECK_FALSE(place.wait_for(-1h));
      CHECK_FALSE(place.wait_for(20ms));
      CHECK_FALSE(place.wait_until(std::chrono::steady_clock::now() + 10ms));
      std::stop_source stop;
      stop.request_stop();
      CHECK_FALSE(place.wait(stop.get_token()));
      CHECK_FALSE(place.spent());
      CHECK(queue_at(here.path) == queue);
      here.theirs.unlock();
      CHECK(place.wait_for(patience()));
      CHECK(place.spent());
      CHECK(here.lock.held());
      CHECK(queue_at(here.path).size() == 1);
      CHECK(here.lock.held().fence().czxid == servers().exists(here.path + "/" + queue.at(1))->czxid);
      const std::lock_guard adopted{here.lock, std::adopt_lock};
    });
    all.join();
    CHECK(leaves_nothing(here.path));
  }

  TEST_CASE_TEMPLATE("tickets know how many are ahead, and are served in their order, whatever the order of the waits",
                     actors, LATCHKEY_ACTORS) {
    held_by_another here;
    std::string order;
    actors all;
    all.start([&] {
      auto first = here.lock.enqueue();
      auto second = here.theirs.enqueue();
      auto third = here.lock.enqueue();
      auto fourth = here.lock.enqueue();
      CHECK(first.ahead() == 1);
      CHECK(second.ahead() == 2);
      CHECK(third.ahead() == 3);
      CHECK(fourth.ahead() == 4);
      const auto take = [&](ticket& place, fair_mutex& lock, const char* who) {
        place.wait();
        order += who;
        lock.unlock();
      };
      actors waiting;
      waiting.start([&] { take(fourth, here.lock, "4"); });
      waiting.start([&] { take(third, here.lock, "3"); });
      waiting.start([&] { take(second, here.theirs, "2"); });
      waiting.start([&] { take(first, here.lock, "1"); });
      here.theirs.unlock();
      waiting.join();
    });
    all.join();
    CHECK(order == "1234");
    CHECK(leaves_nothing(here.path));
  }

  TEST_CASE_TEMPLATE("a stop token ends the wait and keeps the place", actors, LATCHKEY_ACTORS) {
    held_by_another here;
    std::stop_source stop;
    signal queued_up;
    actors all;
    all.start([&] {
      auto place = here.lock.enqueue();
      queued_up.set();
      CHECK_FALSE(place.wait(stop.get_token()));
      CHECK(stop.stop_requested());
      CHECK(place.ahead() == 1);
      here.theirs.unlock();
      CHECK(place.wait(std::stop_token{}));
      here.lock.unlock();
    });
    all.start([&] {
      queued_up.wait();
      stop.request_stop();
    });
    all.join();
    CHECK(leaves_nothing(here.path));
  }

  TEST_CASE_TEMPLATE("cancel() from elsewhere ends a wait and gives the place up", actors, LATCHKEY_ACTORS) {
    held_by_another here;
    for (const bool for_ever : {true, false}) {
      CAPTURE(for_ever);
      auto place = here.lock.enqueue();
      std::atomic<bool> waits{false};
      actors all;
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
        const bool too_late = std::is_same_v<actors, on_threads> && ended == not_permitted;
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
    here.theirs.unlock();
    CHECK(leaves_nothing(here.path));
  }

  TEST_CASE_TEMPLATE("how many are ahead is known in time, or not at all", actors, LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client other{servers().connect_string(), quick(20s)};
    fair_mutex theirs{other, path};
    const std::lock_guard guard{theirs};
    reached_by_proxy here{quick(20s)};
    fair_mutex lock{here.owner, path};
    actors all;
    all.start([&] {
      auto place = lock.enqueue();
      CHECK(place.ahead_for(patience()) == 1);
      CHECK(place.ahead_until(std::chrono::steady_clock::now() + patience()) == 1);
      CHECK(place.ahead(std::stop_token{}) == 1);
      here.net.black_hole();
      const auto start = std::chrono::steady_clock::now();
      CHECK_FALSE(place.ahead_for(100ms));
      CHECK_FALSE(place.ahead_for(0ms));
      CHECK_FALSE(place.ahead_until(std::chrono::steady_clock::now() - 1s));
      const auto took = std::chrono::steady_clock::now() - start;
      CHECK(took >= 100ms);
      CHECK(took < 2s);
      std::stop_source stop;
      actors stopping;
      stopping.start([&] { CHECK_FALSE(place.ahead(stop.get_token())); });
      stopping.start([&] { stop.request_stop(); });
      stopping.join();
      CHECK_FALSE(place.ahead_for(1h, stop.get_token()));
      here.net.heal();
      CHECK(place.ahead() == 1);
    });
    all.join();
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
    here.theirs.unlock();
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
    here.theirs.unlock();
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

  TEST_CASE_TEMPLATE("cancelling a ticket in the middle promotes nobody", actors, LATCHKEY_ACTORS) {
    for (const bool neighbours : {true, false}) {
      CAPTURE(neighbours);
      held_by_another here;
      client third{servers().connect_string(), quick()};
      fair_mutex elsewhere{third, here.path};
      actors all;
      all.start([&] {
        auto first = here.lock.enqueue();
        auto middle = neighbours ? here.lock.enqueue() : elsewhere.enqueue();
        auto last = here.lock.enqueue();
        middle.cancel();
        REQUIRE(queued(here.path, 3));
        CHECK(last.ahead() == 2);
        CHECK_FALSE(last.wait_for(20ms));
        here.theirs.unlock();
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

  TEST_CASE_TEMPLATE("a lock whose turn has come is kept for its ticket, until that is destroyed", actors,
                     LATCHKEY_ACTORS) {
    held_by_another here;
    actors all;
    all.start([&] {
      auto place = here.lock.enqueue();
      here.theirs.unlock();
      CHECK(eventually([&] { return place.ahead() == 0; }));
      CHECK_FALSE(here.theirs.try_lock());
      CHECK_FALSE(here.lock.try_lock());
      CHECK_FALSE(here.theirs.try_lock_for(20ms));
      place.cancel();
      CHECK(here.theirs.try_lock_for(patience()));
      here.theirs.unlock();
    });
    all.join();
    CHECK(leaves_nothing(here.path));
  }

  TEST_CASE_TEMPLATE("waiting with a ticket for what one holds is an error, and keeps the place", actors,
                     LATCHKEY_ACTORS) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    fair_mutex lock{owner, path};
    actors all;
    all.start([&] {
      lock.lock();
      auto place = lock.enqueue();
      CHECK(error_of([&] { place.wait(); }) == deadlock);
      CHECK(error_of([&] { (void)place.wait_for(1h); }) == deadlock);
      CHECK_FALSE(place.spent());
      CHECK(queue_at(path).size() == 2);
      lock.unlock();
      place.wait();
      lock.unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }
}

}  // namespace latchkey::testing
