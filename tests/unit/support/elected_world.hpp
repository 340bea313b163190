// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Candidates of an election on a calm ensemble.

#include <cstdint>

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {

/// Two candidates, and a third client that follows.
struct elected_world : calm_world {
  simulated_client three{ensemble};
  simulated_lock ann{one, "/q", {.family = lock_family::election, .id = "ann"}};
  simulated_lock ben{two, "/q", {.family = lock_family::election, .id = "ben"}};

  elected_world() { three.connect(); }

  grant elect(simulated_lock& who, std::uint64_t fiber = 1) {
    REQUIRE(ends(who.enter(fiber, contender_kind::latch), outcome::granted));
    return who.current(fiber, contender_kind::latch);
  }
};

}  // namespace latchkey::testing
