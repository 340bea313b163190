// SPDX-License-Identifier: Apache-2.0
#include "run_times.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "exit_code.hpp"
#include "show.hpp"

namespace command {

using namespace std::chrono_literals;

namespace {

/// What killing a tree needs: measured, 106 ms for one that forks faster than it is killed.
constexpr std::chrono::nanoseconds least_margin = 200ms;

}  // namespace

run_times times_of(std::chrono::nanoseconds timeout, int part, const run_options& how) {
  const auto margin = std::max(least_margin, timeout / 24);
  const auto grace = how.grace ? std::chrono::nanoseconds{*how.grace}
                               : std::max<std::chrono::nanoseconds>(timeout / part - margin, 0ns);
  return {margin, how.how == on_loss::kill ? 0ns : grace};
}

std::chrono::milliseconds timeout_for(std::chrono::nanoseconds grace) {
  const auto needed = std::max<std::chrono::nanoseconds>(4 * (grace + least_margin), (grace * 24 + 4ns) / 5);
  return std::max(usual_timeout, std::chrono::ceil<std::chrono::milliseconds>(needed + needed / 5));
}

void require_time(std::chrono::milliseconds timeout, const run_options& how) {
  const auto needed = times_of(timeout, 4, how).warning();
  if (needed <= timeout / 4) return;
  throw usage_error{
      fmt::format("a session timeout of {} is too short to end the command in; give -T {}, or a shorter --grace",
                  age_of(timeout), age_of(timeout_for(how.grace.value_or(0ms))))};
}

std::chrono::milliseconds longest_grace(std::chrono::milliseconds timeout) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(times_of(timeout, 4, {}).grace);
}

}  // namespace command
