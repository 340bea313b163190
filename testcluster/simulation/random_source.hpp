// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All chance in a simulation: the same seed gives the same history.

#include <cstdint>

#include "base/deadline.hpp"

namespace latchkey::testing {

using detail::duration;
using detail::time_point;

/// xoshiro256**: fast, and the same on every standard library (as the distributions of std are not).
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept {
    for (auto& word : state_) {  // splitmix64: every seed is a good one
      seed += 0x9e3779b97f4a7c15u;
      auto mixed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
      word = mixed ^ (mixed >> 31);
    }
  }

  std::uint64_t next() noexcept {
    const auto rotated = [](std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); };
    const auto result = rotated(state_[1] * 5, 7) * 9;
    const auto shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotated(state_[3], 45);
    return result;
  }

  /// @returns a number below `bound`; 0 when that is 0.
  std::uint64_t below(std::uint64_t bound) noexcept { return bound == 0 ? 0 : next() % bound; }

  /// @returns true with this probability. Draws nothing for 0 and 1, so that a fault that is switched off changes
  /// nothing.
  bool chance(double probability) noexcept {
    if (probability <= 0) return false;
    if (probability >= 1) return true;
    return static_cast<double>(next() >> 11) * 0x1.0p-53 < probability;
  }

  bool coin() noexcept { return (next() >> 63) != 0; }

  /// @returns a time from `least` up to `most`.
  duration between(duration least, duration most) noexcept {
    if (most <= least) return least;
    return least + duration{static_cast<duration::rep>(below(static_cast<std::uint64_t>((most - least).count()) + 1))};
  }

 private:
  std::uint64_t state_[4]{};
};

}  // namespace latchkey::testing
