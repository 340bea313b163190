// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The calls that take a lock: Lockable and TimedLockable, with any clock and duration.

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/guard.hpp>
#include <latchkey/pending.hpp>

namespace latchkey::detail {

/// The calls that take a lock. `Lock` provides `bool take(nanoseconds timeout, stop_token)`, which without a limit and a
/// token takes it or throws, also if the lock object is destroyed meanwhile; `guard take_guard(...)` of
/// the same, `begin_guard(...)` for those that wait without a thread (async.hpp), and `path()`.
///
/// `acquire()` and its kin return a `guard`, which any thread may release. With `lock()` and its kin, and with the guards
/// of std, the lock belongs to the calling fiber (or plain thread), which alone unlocks it. The lock object must outlive
/// both, so none of the calls is for a temporary.
///
/// Blocking: every call suspends the calling fiber, or blocks a plain thread. A timeout bounds the whole call, whatever
/// the network and the servers do: one that is shorter than the ensemble needs for an answer takes no lock. Zero, a
/// negative timeout and a time point that has passed mean: try once, as `try_lock()`, but for 200 ms at most.
/// `nanoseconds::max()` and anything longer mean: no limit. Setting a clock during a wait has no effect on it.
///
/// Several locks at once: take a `multi_lock`. `std::lock` and `std::scoped_lock` try one lock while they hold another, and
/// begin again if it is held. Each of these steps takes round trips. Where others do the same, the callers hinder each other,
/// and a call may take many seconds on an idle ensemble.
///
/// Stop: `request_stop()` is not for signal handlers, as it takes locks. Wait for the signal on a thread of its own
/// (`sigwait`), as examples/service does.
///
/// @throws error closed, lock_destroyed, not_authorized, authentication_failed, session_timeout_refused,
///         parent_is_ephemeral, queue_exhausted, refused: failures that waiting cannot fix; unreachable: a try, or a
///         call whose time is over, when no server has answered for long (see `errc::unreachable`)
/// @throws std::system_error resource_deadlock_would_occur when the caller would wait for itself
template <class Lock>
class lockable {
 public:
  /// Waits for the lock, through outages and lost sessions.
  void lock() & { static_cast<void>(me().take(std::chrono::nanoseconds::max(), {})); }

  /// As `lock()`, until `stop` is requested. @returns whether the lock was taken.
  [[nodiscard]] bool lock(std::stop_token stop) & {
    return me().take(std::chrono::nanoseconds::max(), std::move(stop));
  }

  /// Takes the lock if it is free. Waits for the ensemble's answer, not for the lock: one read if the lock is held. A
  /// client that has been connected waits at most for `client_options::connect_timeout` or half of the session timeout,
  /// whichever is shorter, and not at all while a lost connection is not back. Before its first connection a try ends
  /// `connect_timeout` after the client was made. @returns whether the lock was taken.
  [[nodiscard]] bool try_lock() & { return me().take(std::chrono::nanoseconds::zero(), {}); }

  /// As `lock()`, for at most `timeout`, and until `stop` is requested. @returns whether the lock was taken.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) & {
    return me().take(timeout_of(timeout), std::move(stop));
  }

  /// As `try_lock_for`, with the time that is left now.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) & {
    return me().take(timeout_of(time), std::move(stop));
  }

  /// As `lock()`. @returns the guard.
  guard acquire() & { return me().take_guard(std::chrono::nanoseconds::max(), {}); }

  /// As `lock(stop)`. @returns the guard; an empty one if the lock was not taken.
  guard acquire(std::stop_token stop) & { return me().take_guard(std::chrono::nanoseconds::max(), std::move(stop)); }

  /// As `try_lock()`. @returns the guard; an empty one if the lock was not taken.
  guard try_acquire() & { return me().take_guard(std::chrono::nanoseconds::zero(), {}); }

  /// As `try_lock_for`. @returns the guard; an empty one if the lock was not taken.
  template <class Rep, class Period>
  guard try_acquire_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) & {
    return me().take_guard(timeout_of(timeout), std::move(stop));
  }

  /// As `try_lock_until`. @returns the guard; an empty one if the lock was not taken.
  template <class Clock, class Duration>
  guard try_acquire_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) & {
    return me().take_guard(timeout_of(time), std::move(stop));
  }

  template <class Rep, class Period>
  void lock(std::chrono::duration<Rep, Period>) & = delete;  // write try_lock_for(time)
  template <class Rep, class Period>
  bool try_lock(std::chrono::duration<Rep, Period>) & = delete;  // write try_lock_for(time)
  template <class Rep, class Period>
  guard acquire(std::chrono::duration<Rep, Period>) & = delete;  // write try_acquire_for(time)
  template <class Rep, class Period>
  guard try_acquire(std::chrono::duration<Rep, Period>) & = delete;  // write try_acquire_for(time)

  // Give the lock object a name: with it the lock ends.
  template <class... Args>
  void lock(Args&&...) && = delete;
  template <class... Args>
  bool try_lock(Args&&...) && = delete;
  template <class... Args>
  bool try_lock_for(Args&&...) && = delete;
  template <class... Args>
  bool try_lock_until(Args&&...) && = delete;
  template <class... Args>
  guard acquire(Args&&...) && = delete;
  template <class... Args>
  guard try_acquire(Args&&...) && = delete;
  template <class... Args>
  guard try_acquire_for(Args&&...) && = delete;
  template <class... Args>
  guard try_acquire_until(Args&&...) && = delete;

 protected:
  lockable() = default;
  ~lockable() = default;

 private:
  Lock& me() noexcept { return static_cast<Lock&>(*this); }
};

/// The same calls for readers. `Lock` provides `bool take_shared(nanoseconds timeout, stop_token)`, `guard
/// take_shared_guard(...)` of the same, and `path()`.
template <class Lock>
class shared_lockable {
 public:
  /// Waits until no writer is ahead, through outages and lost sessions.
  void lock_shared() & { static_cast<void>(me().take_shared(std::chrono::nanoseconds::max(), {})); }

  /// As `lock_shared()`, until `stop` is requested. @returns whether the lock was taken.
  [[nodiscard]] bool lock_shared(std::stop_token stop) & {
    return me().take_shared(std::chrono::nanoseconds::max(), std::move(stop));
  }

  /// Takes the lock if no writer holds it or waits for it. Waits for the ensemble's answer, not for the lock: one read
  /// if there is such a writer. @returns whether the lock was taken.
  [[nodiscard]] bool try_lock_shared() & { return me().take_shared(std::chrono::nanoseconds::zero(), {}); }

  /// As `lock_shared()`, for at most `timeout`, and until `stop` is requested. @returns whether the lock was taken.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) & {
    return me().take_shared(timeout_of(timeout), std::move(stop));
  }

  /// As `try_lock_shared_for`, with the time that is left now.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) & {
    return me().take_shared(timeout_of(time), std::move(stop));
  }

  /// As `lock_shared()`. @returns the guard.
  guard acquire_shared() & { return me().take_shared_guard(std::chrono::nanoseconds::max(), {}); }

  /// As `lock_shared(stop)`. @returns the guard; an empty one if the lock was not taken.
  guard acquire_shared(std::stop_token stop) & {
    return me().take_shared_guard(std::chrono::nanoseconds::max(), std::move(stop));
  }

  /// As `try_lock_shared()`. @returns the guard; an empty one if the lock was not taken.
  guard try_acquire_shared() & { return me().take_shared_guard(std::chrono::nanoseconds::zero(), {}); }

  /// As `try_lock_shared_for`. @returns the guard; an empty one if the lock was not taken.
  template <class Rep, class Period>
  guard try_acquire_shared_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) & {
    return me().take_shared_guard(timeout_of(timeout), std::move(stop));
  }

  /// As `try_lock_shared_until`. @returns the guard; an empty one if the lock was not taken.
  template <class Clock, class Duration>
  guard try_acquire_shared_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) & {
    return me().take_shared_guard(timeout_of(time), std::move(stop));
  }

  template <class Rep, class Period>
  void lock_shared(std::chrono::duration<Rep, Period>) & = delete;  // write try_lock_shared_for(time)
  template <class Rep, class Period>
  guard acquire_shared(std::chrono::duration<Rep, Period>) & = delete;  // write try_acquire_shared_for(time)

  // Give the lock object a name: with it the lock ends.
  template <class... Args>
  void lock_shared(Args&&...) && = delete;
  template <class... Args>
  bool try_lock_shared(Args&&...) && = delete;
  template <class... Args>
  bool try_lock_shared_for(Args&&...) && = delete;
  template <class... Args>
  bool try_lock_shared_until(Args&&...) && = delete;
  template <class... Args>
  guard acquire_shared(Args&&...) && = delete;
  template <class... Args>
  guard try_acquire_shared(Args&&...) && = delete;
  template <class... Args>
  guard try_acquire_shared_for(Args&&...) && = delete;
  template <class... Args>
  guard try_acquire_shared_until(Args&&...) && = delete;

 protected:
  shared_lockable() = default;
  ~shared_lockable() = default;

 private:
  Lock& me() noexcept { return static_cast<Lock&>(*this); }
};

}  // namespace latchkey::detail
