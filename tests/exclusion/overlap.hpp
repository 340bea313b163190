// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which holders of a lock overlap: the question that every checker of histories asks.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace latchkey::testing {

/// From when until when a lock was held, and how. A holder that begins at `to` does not overlap.
template <class Time>
struct holding {
  Time from;
  Time to;
  bool exclusive = true;
};

/// Calls `report(earlier, later)` for every two holders of which one begins while the other holds, unless both share.
/// @param held returns the `holding` of a holder
template <class Holders, class Held, class Report>
void for_each_overlap(const Holders& holders, Held held, Report report) {
  std::vector<std::pair<decltype(held(*holders.begin())), decltype(&*holders.begin())>> all;
  for (const auto& each : holders) all.emplace_back(held(each), &each);
  std::ranges::stable_sort(all, {}, [](const auto& each) { return each.first.from; });
  decltype(all) open;
  for (const auto& later : all) {
    std::erase_if(open, [&](const auto& each) { return each.first.to <= later.first.from; });
    for (const auto& earlier : open) {
      if (earlier.first.exclusive || later.first.exclusive) report(*earlier.second, *later.second);
    }
    open.push_back(later);
  }
}

/// From when until when so many permits of a semaphore were held.
template <class Time>
struct share {
  Time from;
  Time to;
  std::uint64_t permits = 1;
};

/// Calls `report(holder, sum)` for every holder that begins while `sum` permits are held, its own included, which are
/// more than `most`.
/// @param held returns the `share` of a holder
/// @param excused tells of an earlier and a later holder that they need not be counted together
template <class Holders, class Held, class Excused, class Report>
void for_each_excess(const Holders& holders, std::uint64_t most, Held held, Excused excused, Report report) {
  std::vector<std::pair<decltype(held(*holders.begin())), decltype(&*holders.begin())>> all;
  for (const auto& each : holders) all.emplace_back(held(each), &each);
  std::ranges::stable_sort(all, {}, [](const auto& each) { return each.first.from; });
  decltype(all) open;
  for (const auto& later : all) {
    std::erase_if(open, [&](const auto& each) { return each.first.to <= later.first.from; });
    auto sum = later.first.permits;
    for (const auto& earlier : open) {
      if (!excused(*earlier.second, *later.second)) sum += earlier.first.permits;
    }
    if (sum > most) report(*later.second, sum);
    open.push_back(later);
  }
}

}  // namespace latchkey::testing
