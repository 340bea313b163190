// SPDX-License-Identifier: Apache-2.0
#include "base/node_name.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace latchkey::detail {
namespace {

struct marker {
  std::string_view text;
  contender_kind kind;
};

/// What stands before the number: ours and Curator's, then kazoo's.
constexpr std::array markers{
    marker{"lock-", contender_kind::lock},     marker{"__WRIT__", contender_kind::write},
    marker{"__READ__", contender_kind::read},  marker{"__lock__", contender_kind::lock},
    marker{"__rlock__", contender_kind::read},
};

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

}  // namespace

std::string_view to_string(contender_kind kind) noexcept {
  switch (kind) {
    case contender_kind::lock:
      return "lock";
    case contender_kind::read:
      return "read";
    case contender_kind::write:
      return "write";
  }
  return "?";
}

std::string entry_prefix(std::string_view uuid, contender_kind kind) {
  switch (kind) {
    case contender_kind::lock:
      return fmt::format("_c_{}-lock-", uuid);
    case contender_kind::read:
      return fmt::format("_c_{}-__READ__", uuid);
    case contender_kind::write:
      return fmt::format("_c_{}-__WRIT__", uuid);
  }
  return {};
}

std::optional<place> parse_contender(std::string_view name) noexcept {
  if (name.size() < number_digits) return std::nullopt;
  auto number = name.substr(name.size() - number_digits);
  if (!std::all_of(number.begin(), number.end(), is_digit)) return std::nullopt;
  auto head = name.substr(0, name.size() - number_digits);
  for (const auto& [text, kind] : markers) {
    const bool positive = head.ends_with(text);
    const bool negative =
        !positive && head.size() > text.size() && head.back() == '-' && head.substr(0, head.size() - 1).ends_with(text);
    if (!positive && !negative) continue;
    std::int64_t value = 0;
    std::from_chars(number.data(), number.data() + number.size(), value);
    if (negative) value = -value;
    if (value < INT32_MIN || value > INT32_MAX) return std::nullopt;
    return place{static_cast<std::uint32_t>(static_cast<std::int32_t>(value)), kind};
  }
  return std::nullopt;
}

}  // namespace latchkey::detail
