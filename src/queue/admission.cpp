// SPDX-License-Identifier: Apache-2.0
#include "queue/admission.hpp"

#include <algorithm>

namespace latchkey::detail {
admission admit(std::span<const std::string> children, std::string_view me, const rule& mine) {
  const auto number = mine.number(me);
  admission result;
  result.what = admission::verdict::gone;
  if (!number || std::find(children.begin(), children.end(), me) == children.end()) return result;

  const rank self{*number, me};
  rank nearest;
  rank last;
  for (const auto& name : children) {
    const auto theirs = rival_of(mine, name);
    if (!theirs) continue;
    const rank other{theirs->number, name};
    if (self < other) {
      ++result.behind;
      last = std::max(last, other);
    } else if (other < self) {
      ++result.blockers;
      nearest = std::max(nearest, other);
    }
  }
  result.last = last.name;
  result.blocker = nearest.name;
  result.what = result.blockers == 0 ? admission::verdict::granted : admission::verdict::wait;
  return result;
}

bool is_held(std::span<const std::string> children, const rule& mine) {
  return std::any_of(children.begin(), children.end(),
                     [&](const std::string& name) { return rival_of(mine, name).has_value(); });
}

}  // namespace latchkey::detail
