// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Ends holds that last too long: the option `max_hold`.

#include <memory>

#include "queue/grant_state.hpp"

namespace latchkey::detail {

/// The timer of one lock object. It is not moved with each turn: when it runs it finds the hold that it was set for, or
/// a later one, and goes on for that. With the monitor held.
class hold_limit {
 public:
  /// @param most how long one caller may hold; zero: for ever
  hold_limit(monitor& own, duration most) : monitor_{own}, most_{most} {}

  /// A hold of `of` begins. When one may have lasted too long, `of.end_overdue(now)` ends those that have, and returns
  /// when the next one will; `never` if there is none.
  template <class Lock>
  void begin(Lock& of, time_point now) {
    if (most_ != duration::zero() && !timer_) await(of.weak_from_this(), deadline_after(now, most_));
  }

  /// @returns when that hold has lasted too long.
  time_point end_of(const grant_state& hold) const noexcept { return deadline_after(hold.since(), most_); }

  void stop() { monitor_.cancel(timer_); }

 private:
  template <class Lock>
  void await(std::weak_ptr<Lock> of, time_point end) {
    timer_ = monitor_.at(end, [this, of] {
      const auto lock = of.lock();
      if (!lock) return;
      timer_ = {};
      await(of, lock->end_overdue(monitor_.now()));
    });
  }

  monitor& monitor_;
  const duration most_;
  timer_id timer_;
};

}  // namespace latchkey::detail
