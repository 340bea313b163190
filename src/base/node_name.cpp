// SPDX-License-Identifier: Apache-2.0
#include "base/node_name.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/characters.hpp"

namespace latchkey::detail {

std::optional<std::uint32_t> number_after(std::string_view marker, std::string_view name) noexcept {
  if (name.size() < number_digits) return std::nullopt;
  auto head = name.substr(0, name.size() - number_digits);
  const auto digits = name.substr(head.size());
  const bool negative = !head.ends_with(marker);
  if (negative) {
    if (!head.ends_with('-')) return std::nullopt;
    head.remove_suffix(1);
    if (!head.ends_with(marker)) return std::nullopt;
  }
  if (!std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (negative) value = -value;
  if (value < INT32_MIN || value > INT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
}

std::string number_text(std::uint32_t number) { return fmt::format("{:0{}}", number, number_digits); }

}  // namespace latchkey::detail
