// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which holders of a lock overlap: the question that every checker of histories asks.

#include <algorithm>
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

}  // namespace latchkey::testing
