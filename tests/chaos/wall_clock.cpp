// SPDX-License-Identifier: Apache-2.0
#include "wall_clock.hpp"

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace {

constinit std::atomic<std::int64_t> shift{0};  // in nanoseconds

timespec shifted(timespec time) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  const auto all = time.tv_sec * second + time.tv_nsec + shift;
  return {all / second, all % second};
}

}  // namespace

namespace chaos {

void shift_wall_clock(std::chrono::milliseconds by) noexcept { shift = std::chrono::nanoseconds{by}.count(); }

}  // namespace chaos

// These take the place of those of the C library, for all that is linked with this program.

extern "C" int clock_gettime(clockid_t which, timespec* time) noexcept {
  if (::syscall(SYS_clock_gettime, which, time) != 0) return -1;
  if (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE) *time = shifted(*time);
  return 0;
}

extern "C" int gettimeofday(timeval* time, void*) noexcept {
  timespec precise{};
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  *time = {precise.tv_sec, precise.tv_nsec / 1'000};
  return 0;
}

extern "C" time_t time(time_t* into) noexcept {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  if (into != nullptr) *into = precise.tv_sec;
  return precise.tv_sec;
}
