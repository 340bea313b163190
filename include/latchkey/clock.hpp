// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The clock by which grants are valid.

#include <chrono>

namespace latchkey {

/// CLOCK_BOOTTIME: monotonic, and it counts the time that the machine was suspended, as a session timeout does.
/// Comparable between the processes of one machine; not between machines.
struct boottime_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<boottime_clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

}  // namespace latchkey
