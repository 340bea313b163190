// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The clock of a simulated ensemble and its clients: the machine's, which can be stopped and moved forward.

#include <mutex>
#include <optional>

#include "base/deadline.hpp"

namespace latchkey::testing {

/// Never goes back. From any thread.
class shifted_clock {
 public:
  detail::time_point now() const {
    const std::lock_guard lock{mutex_};
    return stopped_at_ ? *stopped_at_ : boottime_clock::now() + shift_;
  }

  void stop() {
    const std::lock_guard lock{mutex_};
    stopped_at_ = boottime_clock::now() + shift_;
  }

  /// @pre stopped, at `time` or before
  void move_to(detail::time_point time) {
    const std::lock_guard lock{mutex_};
    stopped_at_ = time;
  }

  /// Goes on from where it stands.
  void resume() {
    const std::lock_guard lock{mutex_};
    shift_ = *stopped_at_ - boottime_clock::now();
    stopped_at_.reset();
  }

 private:
  mutable std::mutex mutex_;
  detail::duration shift_{};
  std::optional<detail::time_point> stopped_at_;
};

}  // namespace latchkey::testing
