// SPDX-License-Identifier: Apache-2.0
/// Places of a fair mutex that are kept and asked later.

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// A place whose turn has come a while ago: the first proof is too old to be granted by, the second is not due.
struct kept_place : calm_world {
  simulated_lock lock{one, "/q", {.family = lock_family::fair}};
  simulated_lock::place place = lock.make_place();

  kept_place() {
    REQUIRE(ends(lock.queue(place, 1), outcome::granted));
    wear_out_lease(one);
    REQUIRE_FALSE(one.run([&] { return one.core()->lease_keeper().fresh(); }));
  }
  ~kept_place() { lock.shut(); }
};

}  // namespace

TEST_SUITE("place") {
  TEST_CASE("asked whether its turn has come, it says so though that has to be proved first") {
    kept_place w;
    CHECK(w.ends(w.lock.wait(w.place, 1, detail::at_once), outcome::granted));
    CHECK(w.lock.current(1, contender_kind::lock));
  }

  TEST_CASE("asked when the connection goes, it says no, and is asked again later") {
    kept_place w;
    const auto call = w.lock.wait(w.place, 1, detail::at_once);
    CHECK(call->what == outcome::waiting);
    w.one.connector().latest()->lose_connection();
    CHECK(w.ends(call, outcome::refused));
    CHECK(w.ends(w.lock.wait(w.place, 1), outcome::granted));
  }
}

}  // namespace latchkey::testing
