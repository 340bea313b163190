// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A place in the line of a fair queued lock.

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <latchkey/export.hpp>
#include <latchkey/guard.hpp>
#include <latchkey/lockable.hpp>

namespace latchkey {

namespace detail {
class fair_place;
}

/// A place in the line of a `fair_mutex`, which its owner waits for later. Made by `fair_mutex::enqueue()`; movable.
///
/// `acquire()` waits for the lock and returns its `guard`. A successful `wait()` locks the fair_mutex for the calling
/// fiber: adopt it in a guard of std, or unlock it there. Either spends the ticket. A call that ends without the lock
/// keeps the place.
///
/// Fairness: the place in line is that of the call to `enqueue()`. Once its turn has come the lock is kept for the
/// ticket until it waits or is cancelled, and the contenders behind it wait.
///
/// Blocking: `ahead()`, `acquire()`, `wait()`, their variants and `requeue()` suspend the calling fiber, or block a
/// plain thread. Timeouts and stop tokens are as in `detail::lockable`.
///
/// Concurrency: one call at a time, except `cancel()`, which may be called from any thread and fiber, and ends a wait.
///
/// Lifetime: the destructor cancels. A ticket may outlive its fair_mutex and the client; its place does not.
///
/// Loss: the place is lost when the session ends, or when an operator deletes its node. `requeue()` takes another one,
/// at the end of the line.
class LATCHKEY_EXPORT ticket {
 public:
  /// An empty ticket: spent.
  ticket() noexcept;
  /// For latchkey's own use.
  explicit ticket(std::shared_ptr<detail::fair_place> place) noexcept;
  /// Leaves `other` spent.
  ticket(ticket&& other) noexcept;
  /// Cancels this one first; leaves `other` spent.
  ticket& operator=(ticket&& other) noexcept;
  ~ticket();

  /// Lists the queue. Waits for the ensemble's answer, through outages.
  /// @returns the number of contenders ahead of this place; 0 once its turn has come.
  /// @throws error place_lost, and as `fair_mutex::lock()`
  /// @throws std::system_error operation_not_permitted when the ticket is spent
  std::size_t ahead();

  /// As `ahead()`, until `stop` is requested. @returns nothing if there was no answer by then.
  [[nodiscard]] std::optional<std::size_t> ahead(std::stop_token stop);

  /// As `ahead()`, for at most `timeout`. @returns nothing if there was no answer in time. With zero it makes no
  /// request, and returns 0 if the turn is known to have come.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<std::size_t> ahead_for(std::chrono::duration<Rep, Period> timeout,
                                                     std::stop_token stop = {}) {
    return ahead_within(detail::timeout_of(timeout), std::move(stop));
  }

  /// As `ahead_for`, with the time that is left now.
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<std::size_t> ahead_until(std::chrono::time_point<Clock, Duration> time,
                                                       std::stop_token stop = {}) {
    return ahead_within(detail::timeout_of(time), std::move(stop));
  }

  /// Waits for the lock.
  /// @throws error as `ahead()`
  /// @throws std::system_error operation_not_permitted when the ticket is spent, or another call waits with it,
  ///         operation_canceled when `cancel()` has ended the wait, resource_deadlock_would_occur when the calling fiber
  ///         holds the lock already
  void wait();

  /// As `wait()`, until `stop` is requested. @returns whether the lock was taken.
  [[nodiscard]] bool wait(std::stop_token stop);

  template <class Rep, class Period>
  void wait(std::chrono::duration<Rep, Period>) = delete;  // write wait_for(time)

  /// As `wait()`, for at most `timeout`; with zero, takes the lock only if the turn has come, and waits 200 ms at most for
  /// the ensemble to say so. @returns whether the lock was taken.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return wait_within(detail::timeout_of(timeout), std::move(stop));
  }

  /// As `wait_for`, with the time that is left now.
  template <class Clock, class Duration>
  [[nodiscard]] bool wait_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) {
    return wait_within(detail::timeout_of(time), std::move(stop));
  }

  /// As `wait()`. @returns the guard of the lock.
  guard acquire();

  /// As `wait(stop)`. @returns the guard of the lock; an empty one if the lock was not taken.
  guard acquire(std::stop_token stop);

  template <class Rep, class Period>
  guard acquire(std::chrono::duration<Rep, Period>) = delete;  // write acquire_for(time)

  /// As `wait_for`. @returns the guard of the lock; an empty one if the lock was not taken.
  template <class Rep, class Period>
  guard acquire_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return acquire_within(detail::timeout_of(timeout), std::move(stop));
  }

  /// As `wait_until`. @returns the guard of the lock; an empty one if the lock was not taken.
  template <class Clock, class Duration>
  guard acquire_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) {
    return acquire_within(detail::timeout_of(time), std::move(stop));
  }

  /// Gives up the place. Does not wait for the ensemble. Does nothing if the ticket is spent.
  void cancel() noexcept;

  /// @returns whether the place was lost: its session ended, or its node was deleted.
  bool place_lost() const;

  /// Takes another place, at the end of the line, and gives up the present one, if any. Waits for the ensemble's
  /// answer, not for the lock.
  /// @throws error as `fair_mutex::enqueue()`
  /// @throws std::system_error operation_not_permitted when the ticket is spent, operation_canceled when `cancel()` has
  ///         ended the wait
  void requeue();

  /// @returns whether there is nothing left to wait for: the ticket has taken the lock, was cancelled, or is empty.
  bool spent() const noexcept;

 private:
  std::optional<std::size_t> ahead_within(std::chrono::nanoseconds timeout, std::stop_token stop);
  bool wait_within(std::chrono::nanoseconds timeout, std::stop_token stop);
  guard acquire_within(std::chrono::nanoseconds timeout, std::stop_token stop);
  friend struct detail::asynchronous;
  std::shared_ptr<detail::pending<guard>> begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::shared_ptr<detail::fair_place> place_;
};

}  // namespace latchkey
