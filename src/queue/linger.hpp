// SPDX-License-Identifier: Apache-2.0
#pragma once

/// For how long an idle place is kept.

#include "bridge/monitor.hpp"

namespace latchkey::detail {

/// One timer for many rests: it is left to run when the place is wanted again, and looks, when it fires, whether that
/// rests, and until when. With the monitor held.
class linger {
 public:
  linger(monitor& own, duration time) : monitor_{own}, time_{time} {}

  /// The place rests from `now` on.
  /// @param owner made by make_shared; owns this object. `lingers()` says whether the place does, `end_of_linger()` gives
  /// it up.
  template <class Owner>
  void begin(time_point now, Owner& owner) {
    until_ = deadline_after(now, time_);
    if (!timer_ && until_ != never) await_end(owner);
  }

  /// There is no place any more.
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
