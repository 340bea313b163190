// SPDX-License-Identifier: Apache-2.0
#include "queue/admission.hpp"

#include <algorithm>

namespace latchkey::detail {
namespace {

struct candidate {
  std::uint32_t number = 0;
  std::string_view name;

  bool before(const candidate& other) const noexcept {
    return number != other.number ? number < other.number : name < other.name;
  }
};

}  // namespace

admission admit(std::span<const std::string> children, std::string_view me) {
  const auto mine = parse_contender(me);
  admission result;
  result.what = admission::verdict::gone;
  if (!mine || std::find(children.begin(), children.end(), me) == children.end()) return result;

  const candidate self{mine->number, me};
  candidate nearest;
  candidate second;
  for (const auto& name : children) {
    const auto theirs = parse_contender(name);
    if (!theirs || !blocks(theirs->kind, mine->kind)) continue;
    candidate other{theirs->number, name};
    if (!other.before(self)) continue;
    if (result.blockers++ == 0 || nearest.before(other)) std::swap(nearest, other);
    if (!other.name.empty() && second.before(other)) second = other;
  }
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
