// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The lease of a session: until when its grants are valid. Pure: the time is an argument.

#include <atomic>

#include "base/deadline.hpp"

namespace latchkey::detail {

/// Until when the grants of one stretch of a session's life are valid; read from any thread.
/// Once it has been seen in the past it is over for good: no proof revives it.
class lease {
 public:
  /// @returns whether grants are valid at `now`.
  bool alive(time_point now) noexcept {
    auto until = until_.load(std::memory_order_acquire);
    while (now >= time_point{duration{until}}) {
      if (until <= stopped || until_.compare_exchange_weak(until, over, std::memory_order_acq_rel)) return false;
    }
    return true;
  }

  /// @returns whether it is over because its time was, not because it was stopped.
  bool has_run_out(time_point now) noexcept { return !alive(now) && until_.load(std::memory_order_acquire) != stopped; }

  time_point valid_until() const noexcept { return time_point{duration{until_.load(std::memory_order_acquire)}}; }

  void stop() noexcept {
    auto until = until_.load(std::memory_order_acquire);
    while (until != over && !until_.compare_exchange_weak(until, stopped, std::memory_order_acq_rel)) {
    }
  }

  /// Moves the end on, never back. @returns false when it is over.
  bool extend(time_point until) noexcept {
    const auto wanted = until.time_since_epoch().count();
    auto current = until_.load(std::memory_order_acquire);
    while (current > stopped && current < wanted) {
      if (until_.compare_exchange_weak(current, wanted, std::memory_order_acq_rel)) return true;
    }
    return current > stopped;
  }

 private:
  static constexpr duration::rep over = duration::min().count();
  static constexpr duration::rep stopped = over + 1;
  std::atomic<duration::rep> until_{0};
};

}  // namespace latchkey::detail
