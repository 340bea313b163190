// SPDX-License-Identifier: Apache-2.0
#include "recovery.hpp"

#include <algorithm>
#include <iterator>

namespace chaos {

clock::duration pause_after(clock::time_point instant, const std::vector<period>& of_lock,
                            const std::vector<call>& calls) {
  const auto next = std::upper_bound(of_lock.begin(), of_lock.end(), instant,
                                     [](clock::time_point at, const period& one) { return at < one.granted; });
  if (next == of_lock.end()) return {};
  // Among readers, the one who came last need not be the one who stays longest; hardly anybody holds a lock for
  // minutes.
  for (auto one = next; one != of_lock.begin() && std::prev(one)->granted > instant - std::chrono::minutes{2}; --one) {
    if (std::prev(one)->seen >= instant) return {};
  }
  // The first who wants it after the instant, or wanted it already.
  auto wanted = next->granted;
  // The calls of a long run are many, and hardly one takes minutes.
  auto from = std::lower_bound(calls.begin(), calls.end(), instant - std::chrono::minutes{2},
                               [](const call& one, clock::time_point at) { return one.begin < at; });
  for (; from != calls.end(); ++from) {
    const auto& one = *from;
    if (one.lock != next->lock || one.manner != "lock") continue;
    if (one.begin >= wanted) break;
    if (one.what == call::outcome::granted && one.end > instant) {
      wanted = std::min(wanted, std::max(one.begin, instant));
    }
  }
  return next->granted - wanted;
}

}  // namespace chaos
