// SPDX-License-Identifier: Apache-2.0
#include <ctime>

#include <latchkey/clock.hpp>

namespace latchkey {

boottime_clock::time_point boottime_clock::now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return time_point{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
}

}  // namespace latchkey
