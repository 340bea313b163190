// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A place in the line of a fair queued lock.

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <latchkey/lockable.hpp>

namespace latchkey {

namespace detail {
class fair_place;
}

/// A place in the line of a `fair_mutex`, to be waited for later; movable. Made by `fair_mutex::enqueue()`.
/// A wait that returns true has locked the fair_mutex, for its caller: adopt and unlock it there. Then the ticket is
/// spent, and another wait with it is an error. A wait that ends without keeps the place. Once its turn has come the
/// lock is kept for the ticket until it waits or is cancelled; destroying it cancels. Loss: when the session ends, or
/// an operator deletes its node, the place is lost; `requeue()` takes another, at the end. Concurrency: one call at a
/// time, but for `cancel()`, which ends a wait from anywhere.
class ticket {
 public:
  /// A ticket for nothing: spent.
  ticket() noexcept;
  /// For latchkey's own use.
  explicit ticket(std::shared_ptr<detail::fair_place> place) noexcept;
  /// Leaves `other` spent.
  ticket(ticket&& other) noexcept;
  /// Cancels this one first; leaves `other` spent.
  ticket& operator=(ticket&& other) noexcept;
  ~ticket();

  /// @returns how many contenders are ahead of us; 0: our turn has come. Waits for one read, through outages.
  /// @throws error place_lost, closed, ...; std::system_error operation_not_permitted when it is spent
  std::size_t ahead();

  /// As `ahead()`, until `stop` is requested. @returns nothing when there was no answer until then.
  [[nodiscard]] std::optional<std::size_t> ahead(std::stop_token stop);

  /// As `ahead()`, for at most `timeout`. @returns nothing when there was no answer in time. With zero it asks nobody:
  /// 0 when our turn is known to have come.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<std::size_t> ahead_for(std::chrono::duration<Rep, Period> timeout,
                                                     std::stop_token stop = {}) {
    return ahead_within(detail::saturate(timeout), std::move(stop));
  }

  /// As `ahead_for` with the time that is left now.
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<std::size_t> ahead_until(std::chrono::time_point<Clock, Duration> time,
                                                       std::stop_token stop = {}) {
    return ahead_within(detail::time_left(time), std::move(stop));
  }

  /// Waits for the lock. @throws error place_lost, closed, ...; std::system_error as `ahead()`,
  /// resource_deadlock_would_occur when this fiber has the lock already
  void wait();

  /// As `wait()`, until `stop` is requested. @returns whether the lock was taken.
  [[nodiscard]] bool wait(std::stop_token stop);

  /// As `wait()`, for so long at most; none left: whether our turn has come. @returns whether the lock was taken.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return wait_within(detail::saturate(timeout), std::move(stop));
  }

  /// As `wait_for` with the time that is left now.
  template <class Clock, class Duration>
  [[nodiscard]] bool wait_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) {
    return wait_within(detail::time_left(time), std::move(stop));
  }

  /// Gives the place up. Does not wait for the ensemble. Nothing happens when the ticket is spent.
  void cancel() noexcept;

  /// @returns whether the place went with its session, or was deleted by an operator.
  bool place_lost() const;

  /// Takes another place, at the end of the line; gives up the present one, if any. Waits as `fair_mutex::enqueue()`.
  /// @throws as `fair_mutex::enqueue()`; std::system_error operation_not_permitted when it is spent
  void requeue();

  /// @returns whether there is nothing to wait for any more: locked with, cancelled, or moved from.
  bool spent() const noexcept;

 private:
  std::optional<std::size_t> ahead_within(std::chrono::nanoseconds timeout, std::stop_token stop);
  bool wait_within(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::shared_ptr<detail::fair_place> place_;
};

}  // namespace latchkey
