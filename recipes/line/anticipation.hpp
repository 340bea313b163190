// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Predicts whether the next caller of a lock object comes right after the last one has left.

#include <cstdint>

#include "session/reaper.hpp"

namespace latchkey::detail {

/// A caller that locks again at once can leave its old entry and create the new one in one transaction, if the old one
/// was kept for it. The past tells whether that pays: an object whose callers have come back at once, twice in a row,
/// is expected to see the next one soon, too. The first caller that is late ends that, so a wrong guess keeps an entry
/// for one patience of the reaper only (anticipatory scheduling: Iyer and Druschel, SOSP 2001).
class anticipation {
 public:
  /// @param how entries are handed off: if by datagram, they are kept for longer
  explicit anticipation(hand_off how) noexcept
      : patience_{how == hand_off::ensemble ? reaper::patience : reaper::patience_if_told} {}

  /// The last caller has left, and none waits. @returns whether the next one is likely to come at once.
  bool left(time_point now) noexcept {
    left_ = now;
    return quick_ == believed;
  }

  /// A caller comes while no other one held the lock or waited for it.
  void wanted(time_point now) noexcept {
    if (now - left_ > patience_) {
      quick_ = 0;
    } else if (quick_ != believed) {
      ++quick_;
    }
  }

 private:
  static constexpr std::uint8_t believed = 2;

  duration patience_;
  time_point left_{};
  std::uint8_t quick_ = 0;  // how many in a row
};

}  // namespace latchkey::detail
