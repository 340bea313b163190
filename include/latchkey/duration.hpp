// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Durations that do not overflow.

#include <chrono>

#include <latchkey/export.hpp>

namespace latchkey {

namespace detail {

/// @returns `time` in the units of `To`, rounded up; outside its range, the nearest value.
template <class To = std::chrono::nanoseconds, class Rep, class Period>
constexpr To saturate(std::chrono::duration<Rep, Period> time) noexcept {
  using wide = std::chrono::duration<long double, typename To::period>;
  if (wide{time} >= wide{To::max()}) return To::max();
  if (!(wide{time} > wide{To::min()})) return To::min();  // also what is not a number
  return std::chrono::ceil<To>(time);
}

/// @returns the time from now to `time`, by the clock of `time`.
template <class Clock, class Duration>
std::chrono::nanoseconds time_left(std::chrono::time_point<Clock, Duration> time) noexcept {
  using wide = std::chrono::duration<long double, std::nano>;
  return saturate(wide{time.time_since_epoch()} - wide{Clock::now().time_since_epoch()});
}

/// The timeout of a call that tries once, for a moment only. Zero is that of `try_lock()`.
inline constexpr std::chrono::nanoseconds short_try{-1};

/// @returns the timeout of a call that ends after `time`: a short try if that is not positive.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds timeout_of(std::chrono::duration<Rep, Period> time) noexcept {
  const auto whole = saturate(time);
  return whole > whole.zero() ? whole : short_try;
}

/// @returns the timeout of a call that ends at `time`.
template <class Clock, class Duration>
std::chrono::nanoseconds timeout_of(std::chrono::time_point<Clock, Duration> time) noexcept {
  return timeout_of(time_left(time));
}

}  // namespace detail

/// A `Duration` that every other duration converts to: rounded up, and outside its range the nearest value. So
/// `std::chrono::hours::max()` means "for ever", where `Duration` itself would overflow.
template <class Duration>
class saturating : public Duration {
 public:
  /// Zero.
  constexpr saturating() noexcept : Duration{Duration::zero()} {}
  /// Converts; implicitly, as std's durations do.
  template <class Rep, class Period>
  constexpr saturating(std::chrono::duration<Rep, Period> time) noexcept : Duration{detail::saturate<Duration>(time)} {}
};

}  // namespace latchkey
