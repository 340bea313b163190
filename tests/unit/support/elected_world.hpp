// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Candidates of an election on a calm ensemble.

#include <cstdint>

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {

inline constexpr auto election_mode = contender_kind::latch;

/// Two candidates, and a third client that follows.
struct elected_world : calm_world {
  simulated_client three{ensemble};
  simulated_lock ann{one, "/q", {.family = lock_family::election, .id = "ann"}};
  simulated_lock ben{two, "/q", {.family = lock_family::election, .id = "ben"}};

  elected_world() { three.connect(); }

  grant elect(simulated_lock& who, std::uint64_t fiber = 1) {
    REQUIRE(ends(who.enter(fiber, election_mode), outcome::granted));
    return who.current(fiber, election_mode);
  }
};

}  // namespace latchkey::testing
