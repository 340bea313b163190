// SPDX-License-Identifier: Apache-2.0
#pragma once
// When a call with a timeout ends.

#include <algorithm>
#include <chrono>

namespace latchkey::testing::detail {

/// @returns now for a negative timeout, and three weeks on for the longest ones: poll() takes an int.
inline std::chrono::steady_clock::time_point deadline_after(std::chrono::milliseconds timeout) {
  using std::chrono::milliseconds;
  constexpr milliseconds longest = std::chrono::hours{20 * 24};
  return std::chrono::steady_clock::now() + std::clamp<milliseconds>(timeout, milliseconds{0}, longest);
}

}  // namespace latchkey::testing::detail
