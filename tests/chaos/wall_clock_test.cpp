// SPDX-License-Identifier: Apache-2.0
#include "wall_clock.hpp"

#include <doctest/doctest.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include <latchkey/clock.hpp>

namespace chaos {
namespace {

using namespace std::chrono_literals;

/// @returns whether each way to read the wall clock says about this.
bool is_about(std::chrono::system_clock::time_point expected) {
  using std::chrono::system_clock;
  timeval now{};
  ::gettimeofday(&now, nullptr);
  const auto all = {system_clock::now(), system_clock::from_time_t(now.tv_sec),
                    system_clock::from_time_t(std::time(nullptr))};
  return std::all_of(all.begin(), all.end(), [&](auto each) { return each > expected - 2s && each < expected + 1min; });
}

}  // namespace

TEST_CASE("a wall clock that is set jumps for all that read it, and no other clock does") {
  const auto before = std::chrono::system_clock::now();
  const auto since_boot = latchkey::boottime_clock::now();
  const auto steady = std::chrono::steady_clock::now();
  shift_wall_clock(24h);
  CHECK(is_about(before + 24h));
  shift_wall_clock(-24h - 500ms);
  CHECK(is_about(before - 24h - 500ms));
  shift_wall_clock(0ms);
  CHECK(is_about(before));
  CHECK(latchkey::boottime_clock::now() - since_boot < 1min);
  CHECK(std::chrono::steady_clock::now() - steady < 1min);
}

}  // namespace chaos
