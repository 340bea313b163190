// SPDX-License-Identifier: Apache-2.0
#include "queue/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/node_name.hpp"

namespace latchkey::detail {

bool rule::waits_for_kind(const rule& other) const noexcept {
  return std::find(waits_for.begin(), waits_for.end(), &other) != waits_for.end();
}

std::optional<std::uint32_t> rule::number(std::string_view of) const noexcept {
  const auto ours = number_after(marker, of);
  return ours || foreign.empty() ? ours : number_after(foreign, of);
}

std::optional<rival> rival_of(const rule& mine, std::string_view name) noexcept {
  for (const auto* kind : mine.waits_for) {
    if (const auto number = kind->number(name)) return rival{*number, kind};
  }
  return std::nullopt;
}

std::string entry_prefix(std::string_view uuid, const rule& kind) { return fmt::format("_c_{}-{}", uuid, kind.marker); }

}  // namespace latchkey::detail
