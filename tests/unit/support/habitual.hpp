// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whose caller comes back at once.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "support/calm_world.hpp"

namespace latchkey::testing {

/// One whose caller has come back at once, twice: the next is waited for.
template <lock_family Family>
struct habitual : calm_world {
  static constexpr auto mode = Family == lock_family::shared ? contender_kind::write : contender_kind::lock;

  std::unique_ptr<simulated_lock> lock =
      std::make_unique<simulated_lock>(one, "/q", lock_settings{.family = Family, .turns = 2});
  simulated_lock other{two, "/q", {.family = Family}};

  void enter() { REQUIRE(ends(lock->enter(1, mode), outcome::granted)); }
  void leave() { lock->leave(1, mode); }
  fencing_token fence() { return lock->current(1, mode).fence(); }

  habitual() {
    for (int i = 0; i < 2; ++i) {
      enter();
      leave();
    }
    enter();
    time.run_for(std::chrono::seconds{1});
    REQUIRE(queued(Family == lock_family::robust ? 2 : 1));  // its record
    one.connector().forget_sent();
  }

  static std::uint32_t number(const std::string& name) { return detail::parse_contender(name)->number; }
  /// @returns the path of the node with the smallest number.
  std::string first() {
    auto names = ensemble.children("/q");
    std::erase_if(names, [](const auto& each) { return !detail::parse_contender(each); });
    return "/q/" + *std::min_element(names.begin(), names.end(),
                                     [](const auto& a, const auto& b) { return number(a) < number(b); });
  }
  /// @returns when that was made.
  std::int64_t made() { return ensemble.czxid(first()); }

  std::uint64_t sent(request_kind kind) { return one.connector().sent(kind); }
  bool nothing_is_left() {
    return eventually([&] { return ensemble.children("/q").empty() && one.unfinished().empty(); });
  }
};

}  // namespace latchkey::testing
