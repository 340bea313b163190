// SPDX-License-Identifier: Apache-2.0
/// Guards that are made of something else: of a writer's, and of a ticket.

#include <latchkey/fair_mutex.hpp>
#include <latchkey/guard.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/ticket.hpp>

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "support/reached.hpp"
#include "support/support.hpp"
#include "support/two_clients.hpp"

namespace latchkey::testing {

TEST_SUITE("guard") {
  TEST_CASE("the guard of a writer becomes one of a reader, which any thread releases") {
    two_clients<shared_mutex> w;
    shared_mutex theirs{w.two, w.path};
    auto writing = w.lock.acquire();
    CHECK_FALSE(theirs.try_lock_shared());
    guard reading;
    elsewhere([&] { reading = w.lock.downgrade(std::move(writing)); });
    CHECK_FALSE(writing);
    REQUIRE(reading);
    CHECK_FALSE(w.lock.held());
    CHECK(w.is_held());
    catch_up(w.two);
    CHECK(theirs.try_lock_shared());
    theirs.unlock_shared();
    elsewhere([&] { reading.release(); });
    CHECK(w.is_free());
  }

  TEST_CASE("the guard of no writer, or of one who has lost the lock, becomes none of a reader") {
    two_clients<shared_mutex> w;
    shared_mutex other{w.one, fresh_path()};
    const auto becomes = [&](guard held) {
      return error_of([&] { return w.lock.downgrade(std::move(held)).release(); });
    };
    CHECK(becomes({}) == not_permitted);
    CHECK(becomes(other.acquire()) == not_permitted);
    CHECK(becomes(w.lock.acquire_shared()) == not_permitted);
    CHECK(w.is_free());
    auto lost = w.lock.acquire();
    expire_session(w.one);
    REQUIRE(lost.grant().wait_for_end(patience()));
    CHECK(becomes(std::move(lost)) == errc::lock_lost);
    CHECK(w.is_free());
  }

  TEST_CASE("a ticket gives a guard, which any thread releases") {
    two_clients<fair_mutex> w;
    auto place = w.lock.enqueue();
    auto held = place.acquire();
    REQUIRE(held);
    CHECK(place.spent());
    auto moved = std::move(held);  // this thread may wait again
    auto next = w.lock.enqueue();
    CHECK_FALSE(next.acquire_for(0ms));
    CHECK_FALSE(next.acquire_until(std::chrono::steady_clock::now()));
    CHECK_FALSE(next.spent());
    CHECK(moved);
    elsewhere([&] { moved.release(); });
    std::stop_source stop;
    held = next.acquire(stop.get_token());
    REQUIRE(held);
    CHECK(w.is_held());
    held.release();
    CHECK(w.is_free());
  }
}

}  // namespace latchkey::testing
