// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Three clients with a robust mutex each, for tests of exact situations.

#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {

inline const std::string record = "/q/robust-owner";

inline client_options labelled(const char* label) {
  client_options options;
  options.label = label;
  return options;
}

/// One waits for what two and three may have.
struct robust_world : calm_world {
  simulated_client three{ensemble, labelled("three")};
  simulated_lock mine;
  simulated_lock theirs;
  simulated_lock third;

  explicit robust_world(std::uint64_t seed = 1, lock_settings settings = {.family = lock_family::robust})
      : calm_world{seed, labelled("one"), labelled("two")},
        mine{one, "/q", settings},
        theirs{two, "/q", settings},
        third{(three.connect(), three), "/q", settings} {}

  grant hold(simulated_lock& lock, std::uint64_t fiber = 1) {
    REQUIRE(ends(lock.enter(fiber, mode), outcome::granted));
    return lock.current(fiber, mode);
  }
  std::string node_of(simulated_client& of) {
    for (const auto& name : ensemble.children("/q")) {
      if (ensemble.owner("/q/" + name) == session(of)) return "/q/" + name;
    }
    return {};
  }
  /// Two holds it and dies.
  fencing_token leave_dead() {
    const auto fence = hold(theirs).fence();
    two.die();
    return fence;
  }
  static std::uint64_t told(simulated_client& of) {
    return of.run([&] { return of.core()->metrics().locks.at(0).abandoned; });
  }
};

}  // namespace latchkey::testing
