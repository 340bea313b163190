// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A timer of a lock object that is not moved each time.

#include <memory>

#include "bridge/monitor.hpp"

namespace latchkey::detail {

/// Runs at the time that it was set for, finds out until when it is to wait by then, and goes on.
class lazy_timer {
 public:
  explicit lazy_timer(monitor& own) : monitor_{own} {}

  /// Unless it is set already, `due(now)` runs at `time`, if `of` is still there. @param due does what is due, and
  /// returns when it is to run again; `never`: not at all
  template <class Lock, class Due>
  void set(Lock& of, time_point time, Due due) {
    if (!timer_) await(of.weak_from_this(), time, due);
  }
  void stop() { monitor_.cancel(timer_); }

 private:
  template <class Lock, class Due>
  void await(std::weak_ptr<Lock> of, time_point time, Due due) {
    timer_ = monitor_.at(time, [this, of, due] {
      const auto lock = of.lock();
      if (!lock) return;
      timer_ = {};
      const auto next = due(monitor_.now());
      if (!timer_) await(of, next, due);
    });
  }

  monitor& monitor_;
  timer_id timer_;
};

}  // namespace latchkey::detail
