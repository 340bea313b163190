// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What makes a lock TimedLockable, for every clock and duration.

#include <chrono>
#include <stop_token>

namespace latchkey::detail {

/// @returns `duration` as nanoseconds; beyond what they can hold, the nearest they can.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds saturate(std::chrono::duration<Rep, Period> duration) noexcept {
  using namespace std::chrono;
  using wide = std::chrono::duration<long double, std::nano>;
  if (wide{duration} >= wide{nanoseconds::max()}) return nanoseconds::max();
  if (wide{duration} <= wide{nanoseconds::min()}) return nanoseconds::min();
  return ceil<nanoseconds>(duration);
}

/// @returns the time from now to `time`, by the clock of `time`.
template <class Clock, class Duration>
std::chrono::nanoseconds time_left(std::chrono::time_point<Clock, Duration> time) noexcept {
  using wide = std::chrono::duration<long double, std::nano>;
  return saturate(wide{time.time_since_epoch()} - wide{Clock::now().time_since_epoch()});
}

/// The timed calls of a lock. A timeout bounds the whole call; none left (zero, negative, a time that has passed)
/// means: try once. The extremes mean what they say. `Lock` has `bool try_lock_within(nanoseconds, std::stop_token)`.
template <class Lock>
class timed {
 public:
  /// @returns whether the lock was taken in time, and before `stop` was requested.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return static_cast<Lock&>(*this).try_lock_within(saturate(timeout), std::move(stop));
  }

  /// As `try_lock_for` with the time that is left now: a clock that is set during the wait changes nothing.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) {
    return static_cast<Lock&>(*this).try_lock_within(time_left(time), std::move(stop));
  }

 protected:
  timed() = default;
  ~timed() = default;
};

/// The same to read. `Lock` has `bool try_lock_shared_within(nanoseconds, std::stop_token)`.
template <class Lock>
class timed_shared {
 public:
  /// @returns whether the lock was taken to read in time, and before `stop` was requested.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return static_cast<Lock&>(*this).try_lock_shared_within(saturate(timeout), std::move(stop));
  }

  /// As `try_lock_shared_for` with the time that is left now.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) {
    return static_cast<Lock&>(*this).try_lock_shared_within(time_left(time), std::move(stop));
  }

 protected:
  timed_shared() = default;
  ~timed_shared() = default;
};

}  // namespace latchkey::detail
