// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The clock by which grants are valid.

#include <chrono>

#include <latchkey/export.hpp>

namespace latchkey {

/// CLOCK_BOOTTIME: a monotonic clock that counts the time during which the machine is suspended, as a server does with
/// a session timeout.
///
/// Meets TrivialClock. Time points are comparable between the processes of one machine, not between machines.
struct LATCHKEY_EXPORT boottime_clock {
  // Required of a clock.
  using duration = std::chrono::nanoseconds;                   ///< signed, 64 bits
  using rep = duration::rep;                                   ///< of `duration`
  using period = duration::period;                             ///< of `duration`
  using time_point = std::chrono::time_point<boottime_clock>;  ///< since the machine was started
  static constexpr bool is_steady = true;                      ///< it never goes back

  /// @returns the present time.
  static time_point now() noexcept;
};

}  // namespace latchkey
