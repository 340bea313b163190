// SPDX-License-Identifier: Apache-2.0
#pragma once

/// For how long an idle place is kept.

#include "bridge/strand.hpp"

namespace latchkey::detail {

/// One timer for many rests: it is left to run when the place is wanted again, and looks, when it fires, whether that
/// rests, and until when. With the strand held.
class linger {
 public:
  linger(strand& own, duration time) : strand_{own}, time_{time} {}

  /// The place rests from `now` on.
  /// @param owner made by make_shared; owns this object. `rests()` says whether the place does, `end_of_linger()` gives
  /// it up.
  template <class Owner>
  void begin(time_point now, Owner& owner) {
    until_ = deadline_after(now, time_);
    if (!timer_ && until_ != never) await_end(owner);
  }

  /// There is no place any more.
  void stop() { strand_.cancel(timer_); }

 private:
  template <class Owner>
  void await_end(Owner& owner) {
    timer_ = strand_.at(until_, [this, weak = owner.weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      timer_ = {};
      if (!self->rests()) return;
      if (strand_.now() < until_) return await_end(*self);
      self->end_of_linger();
    });
  }

  strand& strand_;
  const duration time_;
  time_point until_;
  timer_id timer_;
};

}  // namespace latchkey::detail
