// SPDX-License-Identifier: Apache-2.0
#include "queue/admission.hpp"

#include <algorithm>

namespace latchkey::detail {
admission admit(std::span<const std::string> children, std::string_view me) {
  const auto mine = parse_contender(me);
  admission result;
  result.what = admission::verdict::gone;
  if (!mine || std::find(children.begin(), children.end(), me) == children.end()) return result;

  const rank self{mine->number, me};
  rank nearest;
  rank second;
  rank last;
  for (const auto& name : children) {
    const auto theirs = parse_contender(name);
    if (!theirs || !blocks(theirs->kind, mine->kind)) continue;
    rank other{theirs->number, name};
    if (other == self) continue;
    if (self < other) {
      ++result.behind;
      last = std::max(last, other);
      continue;
    }
    if (result.blockers++ == 0 || nearest < other) std::swap(nearest, other);
    if (!other.name.empty() && second < other) second = other;
  }
  result.last = last.name;
  if (result.blockers == 0) {
    result.what = admission::verdict::granted;
  } else {
    result.what = admission::verdict::wait;
    result.blocker = nearest.name;
    result.next_blocker = second.name;
  }
  return result;
}

bool is_held(std::span<const std::string> children, contender_kind mine) {
  return std::any_of(children.begin(), children.end(), [mine](const std::string& name) {
    const auto theirs = parse_contender(name);
    return theirs && blocks(theirs->kind, mine);
  });
}

}  // namespace latchkey::detail
