// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Characters of ASCII, whatever the locale.

#include <string_view>

namespace latchkey::detail {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_letter_or_digit(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
/// Of a host, or of a scheme of authentication.
constexpr bool is_of_name(char c) noexcept { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_'; }

/// @returns `text` without the characters of `space` at its ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view space) noexcept {
  const auto first = text.find_first_not_of(space);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

}  // namespace latchkey::detail
