// SPDX-License-Identifier: Apache-2.0
#include "recipes/queue_listing.hpp"

#include <algorithm>

#include "queue/admission.hpp"

namespace latchkey::detail {

contender::kind public_kind(contender_kind kind) noexcept {
  switch (kind) {
    case contender_kind::lock:
    case contender_kind::latch:
      return contender::kind::lock;
    case contender_kind::read:
      return contender::kind::read;
    case contender_kind::permit:
      return contender::kind::permit;
    case contender_kind::write:
      break;
  }
  return contender::kind::write;
}

std::optional<position> place_of(std::string_view name) {
  const bool lease = name.starts_with(permit_folder);
  if (lease) name.remove_prefix(permit_folder.size());
  if (name.starts_with(turns_folder)) name.remove_prefix(turns_folder.size());
  const auto found = parse_contender(name);
  const bool is_lease = found && found->kind == contender_kind::permit;
  if (name.find('/') != std::string_view::npos || is_lease != lease) return std::nullopt;
  return found;
}

std::vector<candidate> in_order(const std::vector<std::string>& children, std::string_view folder) {
  std::vector<candidate> sorted;
  for (const auto& child : children) {
    const auto name = std::string{folder} + child;
    if (const auto place = place_of(name)) sorted.push_back({*place, name});
  }
  std::sort(sorted.begin(), sorted.end(), [](const candidate& a, const candidate& b) {
    return rank{a.place.number, a.name} < rank{b.place.number, b.name};
  });
  return sorted;
}

bool turns_of_queue::next(const candidate& who) noexcept {
  const auto kind = who.place.kind;
  if (kind == contender_kind::permit) return true;
  if (who.name.starts_with(turns_folder)) return false;
  const bool reads = kind == contender_kind::read;
  const bool holds = first_ || (open_ && reads);
  open_ = open_ && reads;
  first_ = false;
  return holds;
}

}  // namespace latchkey::detail
