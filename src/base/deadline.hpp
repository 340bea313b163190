// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Time inside latchkey: one clock, and sums that do not overflow.

#include <latchkey/clock.hpp>

namespace latchkey::detail {

using duration = boottime_clock::duration;
using time_point = boottime_clock::time_point;

/// As a deadline: never.
inline constexpr time_point never = time_point::max();

/// @returns `now + timeout`; `never` instead of an overflow, `now` for a timeout below zero.
constexpr time_point deadline_after(time_point now, duration timeout) noexcept {
  if (timeout <= duration::zero()) return now;
  return timeout >= never - now ? never : now + timeout;
}

/// For how long a call waits at most whose timeout is zero or less.
inline constexpr duration longest_short_try = std::chrono::milliseconds{200};

/// @returns the timeout of a call that is nothing without an answer.
constexpr duration time_to_answer(duration timeout) noexcept {
  return timeout > duration::zero() ? timeout : longest_short_try;
}

/// @returns how much of the time until `deadline` is left.
constexpr duration time_until(time_point deadline, time_point now) noexcept {
  return deadline == never ? duration::max() : deadline - now;
}

}  // namespace latchkey::detail
