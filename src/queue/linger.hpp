// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How long an idle entry is kept.

#include "bridge/monitor.hpp"

namespace latchkey::detail {

/// One timer for many idle periods: it keeps running when the entry is used again. When it fires it checks whether the
/// entry is idle, and until when that is to last. With the monitor held.
class linger {
 public:
  linger(monitor& own, duration time) : monitor_{own}, time_{time} {}

  /// The entry is idle from `now` on.
  /// @param owner made by make_shared; owns this object. `lingers()` tells whether the entry is idle, `end_of_linger()`
  /// gives it up.
  template <class Owner>
  void begin(time_point now, Owner& owner) {
    until_ = deadline_after(now, time_);
    if (!timer_ && until_ != never) await_end(owner);
  }

  /// The entry is gone.
  void stop() { monitor_.cancel(timer_); }

 private:
  template <class Owner>
  void await_end(Owner& owner) {
    timer_ = monitor_.at(until_, [this, weak = owner.weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      timer_ = {};
      if (!self->lingers()) return;
      if (monitor_.now() < until_) return await_end(*self);
      self->end_of_linger();
    });
  }

  monitor& monitor_;
  const duration time_;
  time_point until_;
  timer_id timer_;
};

}  // namespace latchkey::detail
