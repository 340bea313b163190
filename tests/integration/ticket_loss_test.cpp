// SPDX-License-Identifier: Apache-2.0
/// Tickets whose place, lock or client goes.

#include <latchkey/ticket.hpp>

#include <atomic>
#include <memory>

#include <doctest/doctest.h>

#include "support/held_by_another.hpp"
#include "support/reached.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("ticket") {
  LATCHKEY_TEST_CASES("a place goes with its session, its ticket says so, and can be queued again at the end", who,
                      all_callers()) {
    held_by_another here;
    group_of_actors all{who};
    all.start([&] {
      auto place = here.lock.enqueue();
      auto behind = here.theirs.enqueue();
      const auto before = here.owner.session_id();
      expire_session(here.owner);
      CHECK(eventually([&] { return place.place_lost(); }));
      CHECK_FALSE(place.spent());
      CHECK(error_of([&] { place.wait(); }) == errc::place_lost);
      CHECK(error_of([&] { (void)place.wait_for(1h); }) == errc::place_lost);
      CHECK(error_of([&] { place.ahead(); }) == errc::place_lost);
      CHECK(queued(here.path, 2));
      place.requeue();
      CHECK_FALSE(place.place_lost());
      CHECK(here.owner.session_id() != before);
      CHECK(place.ahead() == 2);
      here.held.release();
      CHECK_FALSE(place.wait_for(20ms));
      behind.wait();
      here.theirs.unlock();
      CHECK(place.wait_for(patience()));
      here.lock.unlock();
    });
    all.join();
    CHECK(leaves_nothing(here.path));
  }

  LATCHKEY_TEST_CASES("a wait ends when the place is lost, to the session or to an operator", who, all_callers()) {
    for (const bool operated : {true, false}) {
      CAPTURE(operated);
      held_by_another here;
      signal queued_up;
      signal lost;
      group_of_actors all{who};
      all.start([&] {
        auto between = here.theirs.enqueue();
        auto place = here.lock.enqueue();
        REQUIRE(place.ahead() == 2);
        group_of_actors meanwhile{who};
        meanwhile.start([&] {
          lost.wait();
          between.cancel();  // a waiter that sees one of several go looks who is left, and whether it is itself
        });
        queued_up.set();
        CHECK(error_of([&] { (void)place.wait_for(patience()); }) == errc::place_lost);
        meanwhile.join();
        CHECK(place.place_lost());
        place.requeue();
        CHECK(place.wait_for(patience()));
        here.lock.unlock();
      });
      all.start([&] {
        queued_up.wait();
        if (operated) {
          REQUIRE(servers().remove(here.path + "/" + queue_at(here.path).at(2)));
        } else {
          expire_session(here.owner);
        }
        lost.set();
        here.held.release();
      });
      all.join();
      CHECK(leaves_nothing(here.path));
    }
  }

  LATCHKEY_TEST_CASES("a turn that has come is lost with its session, though nobody waits for it", who, all_callers()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    fair_mutex lock{owner, path};
    group_of_actors all{who};
    all.start([&] {
      auto place = lock.enqueue();
      REQUIRE(eventually([&] { return place.ahead() == 0; }));
      expire_session(owner);
      CHECK(eventually([&] { return place.place_lost(); }));
      CHECK(error_of([&] { place.wait(); }) == errc::place_lost);
      place.requeue();
      CHECK(place.wait_for(patience()));
      CHECK(lock.held());
      lock.unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  TEST_CASE("a ticket that is requeued while it has its place gives that up") {
    held_by_another here;
    auto place = here.lock.enqueue();
    const auto behind = here.theirs.enqueue();
    CHECK(place.ahead() == 1);
    place.requeue();
    CHECK(queued(here.path, 3));
    CHECK(place.ahead() == 2);
    here.held.release();
  }

  TEST_CASE("a ticket may outlive its lock and its client: then it is one for nothing") {
    const auto path = fresh_path();
    ticket of_lock;
    ticket of_client;
    {
      client owner{servers().connect_string(), quick()};
      {
        fair_mutex lock{owner, path};
        of_lock = lock.enqueue();
      }
      CHECK(queued(path, 0));
      CHECK(error_of([&] { of_lock.wait(); }) == errc::lock_destroyed);
      CHECK(error_of([&] { of_lock.ahead(); }) == errc::lock_destroyed);
      CHECK(error_of([&] { of_lock.requeue(); }) == errc::lock_destroyed);
      fair_mutex lock{owner, path};
      of_client = lock.enqueue();
      owner.close();
      CHECK(queue_at(path).empty());
      CHECK(error_of([&] { of_client.wait(); }) == errc::closed);
      CHECK(error_of([&] { (void)lock.enqueue(); }) == errc::closed);
    }
    CHECK(error_of([&] { of_client.ahead(); }) == errc::closed);
    of_lock.cancel();
    of_client.cancel();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES(
      "a wait that goes on while its lock object is destroyed is told so, with a ticket that is not spent", who,
      all_callers()) {
    held_by_another here;
    client owner{servers().connect_string(), quick()};
    auto lock = std::make_unique<fair_mutex>(owner, here.path);
    auto place = lock->enqueue();
    std::atomic<bool> waits{false};
    group_of_actors all{who};
    all.start([&] {
      waits = true;
      CHECK(error_of([&] { place.wait(); }) == errc::lock_destroyed);
      CHECK_FALSE(place.spent());
    });
    all.start([&] {
      REQUIRE(eventually([&] { return waits.load(); }));
      lock.reset();
    });
    all.join();
    CHECK(queued(here.path, 1));
  }

  LATCHKEY_TEST_CASES("try_enqueue_for() ends when it promised to on a frozen network, and leaves nothing", who,
                      all_callers()) {
    const auto path = fresh_path();
    servers().create_all(path);
    proxy net{servers().addresses()};
    client owner{net.connect_string(), quick(10s)};
    fair_mutex lock{owner, path};
    REQUIRE(missing_connection(owner) == "");
    group_of_actors all{who};
    all.start([&] {
      std::stop_source stop;
      stop.request_stop();
      CHECK_FALSE(lock.try_enqueue_for(1h, stop.get_token()));
      net.black_hole();
      const auto start = std::chrono::steady_clock::now();
      CHECK_FALSE(lock.try_enqueue_for(200ms));
      const auto took = std::chrono::steady_clock::now() - start;
      CHECK(took >= 200ms);
      CHECK(took < patience());
      net.heal();
      CHECK(queued(path, 0));
      auto place = lock.try_enqueue_for(patience());
      REQUIRE(place);
      CHECK(place->wait_for(patience()));
      lock.unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }
}

}  // namespace latchkey::testing
