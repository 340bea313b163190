// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How long answers have taken.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace command {

struct answer_times {
  std::chrono::nanoseconds median{};
  std::chrono::nanoseconds p99{};  ///< the slowest of 99 in 100

  /// @param all may be empty
  explicit answer_times(std::vector<std::chrono::nanoseconds> all) {
    if (all.empty()) return;
    std::sort(all.begin(), all.end());
    median = all[all.size() / 2];
    p99 = all[std::min(all.size() - 1, all.size() * 99 / 100)];
  }
};

/// Calls it `most` times, or as often as `time` allows, but `least` times.
template <class Call>
std::vector<std::chrono::nanoseconds> time_of_each(Call call, std::size_t least, std::size_t most,
                                                   std::chrono::nanoseconds time) {
  using steady = std::chrono::steady_clock;
  std::vector<std::chrono::nanoseconds> all;
  const auto end = steady::now() + time;
  while (all.size() < least || (all.size() < most && steady::now() < end)) {
    const auto begun = steady::now();
    call();
    all.push_back(steady::now() - begun);
  }
  return all;
}

}  // namespace command
