// SPDX-License-Identifier: Apache-2.0
#include <latchkey/ticket.hpp>

#include <mutex>
#include <string>

#include <doctest/doctest.h>

#include "support/held_by_another.hpp"
#include "support/reached.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("ticket") {
  LATCHKEY_TEST_CASES("enqueue() returns with the place taken, and a wait that ends without the lock keeps it", who,
                      all_callers()) {
    held_by_another here;
    group_of_actors all{who};
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
      here.held.release();
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

  LATCHKEY_TEST_CASES("tickets know how many are ahead, and are served in their order, whatever the order of the waits",
                      who, all_callers()) {
    held_by_another here;
    std::string order;
    group_of_actors all{who};
    all.start([&] {
      auto first = here.lock.enqueue();
      auto second = here.theirs.enqueue();
      auto third = here.lock.enqueue();
      auto fourth = here.lock.enqueue();
      CHECK(first.ahead() == 1);
      CHECK(second.ahead() == 2);
      CHECK(third.ahead() == 3);
      CHECK(fourth.ahead() == 4);
      const auto take = [&](ticket& place, fair_mutex& lock, const char* name) {
        place.wait();
        order += name;
        lock.unlock();
      };
      group_of_actors waiting{who};
      waiting.start([&] { take(fourth, here.lock, "4"); });
      waiting.start([&] { take(third, here.lock, "3"); });
      waiting.start([&] { take(second, here.theirs, "2"); });
      waiting.start([&] { take(first, here.lock, "1"); });
      here.held.release();
      waiting.join();
    });
    all.join();
    CHECK(order == "1234");
    CHECK(leaves_nothing(here.path));
  }

  LATCHKEY_TEST_CASES("a stop token ends the wait and keeps the place", who, all_callers()) {
    held_by_another here;
    std::stop_source stop;
    signal queued_up;
    group_of_actors all{who};
    all.start([&] {
      auto place = here.lock.enqueue();
      queued_up.set();
      CHECK_FALSE(place.wait(stop.get_token()));
      CHECK(stop.stop_requested());
      CHECK(place.ahead() == 1);
      here.held.release();
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

  LATCHKEY_TEST_CASES("how many are ahead is known in time, or not at all", who, all_callers()) {
    const auto path = fresh_path();
    client other{servers().connect_string(), quick(20s)};
    fair_mutex theirs{other, path};
    const std::lock_guard guard{theirs};
    reached_by_proxy here{quick(20s)};
    fair_mutex lock{here.owner, path};
    group_of_actors all{who};
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
      CHECK(took < 5s);
      std::stop_source stop;
      group_of_actors stopping{who};
      stopping.start([&] { CHECK_FALSE(place.ahead(stop.get_token())); });
      stopping.start([&] { stop.request_stop(); });
      stopping.join();
      CHECK_FALSE(place.ahead_for(1h, stop.get_token()));
      here.net.heal();
      CHECK(place.ahead() == 1);
    });
    all.join();
  }

  LATCHKEY_TEST_CASES("a lock whose turn has come is kept for its ticket, until that is destroyed", who,
                      all_callers()) {
    held_by_another here;
    group_of_actors all{who};
    all.start([&] {
      auto place = here.lock.enqueue();
      here.held.release();
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

  LATCHKEY_TEST_CASES("waiting with a ticket for what one holds is an error, and keeps the place", who, all_callers()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    fair_mutex lock{owner, path};
    group_of_actors all{who};
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
