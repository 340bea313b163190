// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The calls that take a lock: Lockable and TimedLockable, with any clock and duration.

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

#include <latchkey/duration.hpp>

namespace latchkey::detail {

/// Throws `errc::lock_destroyed`.
[[noreturn]] void throw_destroyed(const std::string& path);

/// The calls that take a lock. `Lock` provides `bool acquire(nanoseconds timeout, stop_token)` and `path()`.
///
/// Blocking: every call suspends the calling fiber, or blocks a plain thread. A timeout bounds the whole call, whatever
/// the network and the servers do. Zero, a negative timeout and a time point that has passed mean: try once.
/// `nanoseconds::max()` and anything longer mean: no limit. Setting a clock during a wait has no effect on it.
///
/// @throws error closed, lock_destroyed, not_authorized, authentication_failed, session_timeout_refused,
///         parent_is_ephemeral, queue_exhausted, refused: failures that waiting cannot fix
/// @throws std::system_error resource_deadlock_would_occur when the caller would wait for itself
template <class Lock>
class lockable {
 public:
  /// Waits for the lock, through outages and lost sessions.
  void lock() {
    if (!me().acquire(std::chrono::nanoseconds::max(), {})) throw_destroyed(me().path());
  }

  /// As `lock()`, until `stop` is requested. @returns whether the lock was taken.
  [[nodiscard]] bool lock(std::stop_token stop) {
    return me().acquire(std::chrono::nanoseconds::max(), std::move(stop));
  }

  /// Takes the lock if it is free. Waits for the ensemble's answer, not for the lock: one read if the lock is held.
  /// @returns whether the lock was taken.
  [[nodiscard]] bool try_lock() { return me().acquire(std::chrono::nanoseconds::zero(), {}); }

  /// As `lock()`, for at most `timeout`, and until `stop` is requested. @returns whether the lock was taken.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return me().acquire(saturate(timeout), std::move(stop));
  }

  /// As `try_lock_for`, with the time that is left now.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) {
    return me().acquire(time_left(time), std::move(stop));
  }

 protected:
  lockable() = default;
  ~lockable() = default;

 private:
  Lock& me() noexcept { return static_cast<Lock&>(*this); }
};

/// The same calls for readers. `Lock` provides `bool acquire_shared(nanoseconds timeout, stop_token)` and `path()`.
template <class Lock>
class shared_lockable {
 public:
  /// Waits until no writer is ahead, through outages and lost sessions.
  void lock_shared() {
    if (!me().acquire_shared(std::chrono::nanoseconds::max(), {})) throw_destroyed(me().path());
  }

  /// As `lock_shared()`, until `stop` is requested. @returns whether the lock was taken.
  [[nodiscard]] bool lock_shared(std::stop_token stop) {
    return me().acquire_shared(std::chrono::nanoseconds::max(), std::move(stop));
  }

  /// Takes the lock if no writer holds it or waits for it. Waits for the ensemble's answer, not for the lock: one read
  /// if there is such a writer. @returns whether the lock was taken.
  [[nodiscard]] bool try_lock_shared() { return me().acquire_shared(std::chrono::nanoseconds::zero(), {}); }

  /// As `lock_shared()`, for at most `timeout`, and until `stop` is requested. @returns whether the lock was taken.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return me().acquire_shared(saturate(timeout), std::move(stop));
  }

  /// As `try_lock_shared_for`, with the time that is left now.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) {
    return me().acquire_shared(time_left(time), std::move(stop));
  }

 protected:
  shared_lockable() = default;
  ~shared_lockable() = default;

 private:
  Lock& me() noexcept { return static_cast<Lock&>(*this); }
};

}  // namespace latchkey::detail
