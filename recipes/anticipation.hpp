// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whether the next caller of a lock object comes right after the last one has gone.

#include <cstdint>

#include "session/reaper.hpp"

namespace latchkey::detail {

/// Callers who lock again at once could have left their old place and taken the new one in one transaction, had the old
/// one waited for them. Whether it pays to wait for the next caller is read from what the last ones did: an object
/// whose callers come back at once, twice in a row, is believed to be such a one; the first who does not ends that. So
/// nobody waits in vain for more than one `reaper::patience` (anticipatory scheduling: Iyer and Druschel, SOSP 2001).
class anticipation {
 public:
  /// Nobody has the lock, or wants it. @returns whether the next caller is likely to be here at once.
  bool left(time_point now) noexcept {
    left_ = now;
    return quick_ == believed;
  }

  /// Somebody comes while nobody had the lock, or wanted it.
  void wanted(time_point now) noexcept {
    if (now - left_ > reaper::patience) {
      quick_ = 0;
    } else if (quick_ != believed) {
      ++quick_;
    }
  }

 private:
  static constexpr std::uint8_t believed = 2;

  time_point left_{};
  std::uint8_t quick_ = 0;  // how many in a row
};

}  // namespace latchkey::detail
