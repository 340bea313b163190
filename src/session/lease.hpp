// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The lease of a session: until when its grants are valid. Pure: the time is an argument.

#include <atomic>
#include <optional>

#include <latchkey/grant.hpp>

#include "base/deadline.hpp"

namespace latchkey::detail {

/// Until when the grants of one stretch of a session's life are valid; read from any thread.
/// Once it has been seen in the past it is over for good: no proof revives it.
class lease {
 public:
  /// @returns whether grants are valid at `now`.
  bool alive(time_point now) noexcept { return !loss(now); }

  /// @returns why grants are not valid at `now`, which does not change; nothing while they are.
  std::optional<loss_reason> loss(time_point now) noexcept {
    auto until = until_.load(std::memory_order_acquire);
    while (now >= time_point{duration{until}}) {
      if (until <= last_end) return static_cast<loss_reason>(until - first_end);
      if (until_.compare_exchange_weak(until, end_for(loss_reason::deadline_passed), std::memory_order_acq_rel))
        return loss_reason::deadline_passed;
    }
    return std::nullopt;
  }

  time_point valid_until() const noexcept { return time_point{duration{until_.load(std::memory_order_acquire)}}; }

  void stop(loss_reason why) noexcept {
    auto until = until_.load(std::memory_order_acquire);
    while (until > last_end && !until_.compare_exchange_weak(until, end_for(why), std::memory_order_acq_rel)) {
    }
  }

  /// Moves the end on, never back. @returns false when it is over.
  bool extend(time_point until) noexcept {
    const auto wanted = until.time_since_epoch().count();
    auto current = until_.load(std::memory_order_acquire);
    while (current > last_end && current < wanted) {
      if (until_.compare_exchange_weak(current, wanted, std::memory_order_acq_rel)) return true;
    }
    return current > last_end;
  }

 private:
  // A lease that is over: why, as a time that is long past.
  static constexpr duration::rep first_end = duration::min().count();
  static constexpr duration::rep last_end = first_end + 255;  // more than there are reasons
  static constexpr duration::rep end_for(loss_reason why) noexcept {
    return first_end + static_cast<duration::rep>(why);
  }
  std::atomic<duration::rep> until_{0};  // all there is to read: its order with other memory does not matter
};

}  // namespace latchkey::detail
