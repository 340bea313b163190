// SPDX-License-Identifier: Apache-2.0
#include "base/escape.hpp"

#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace latchkey::detail {
namespace {

struct character {
  std::size_t bytes = 1;
  std::uint32_t code = invalid;

  static constexpr std::uint32_t invalid = 0xffffffff;

  bool is_printable() const noexcept {
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const bool separates_or_turns = (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    return code != invalid && !control && !separates_or_turns;
  }
};

/// @returns the first character of `text`, in UTF-8; one invalid byte if it is none.
character first_of(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])); };
  const auto lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t bytes = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  auto code = lead & (0x7fu >> bytes);
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(at) & 0x3f);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (overlong || surrogate || code > 0x10ffff) return {};
  return {bytes, code};
}

}  // namespace

std::string escaped(std::string_view text, std::string_view also) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const auto next = first_of(text);
    const auto bytes = text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
    if (!next.is_printable()) {
      for (const char each : bytes)
        fmt::format_to(std::back_inserter(safe), "\\x{:02x}", static_cast<unsigned char>(each));
      continue;
    }
    if (bytes == "\\" || also.find(bytes) != std::string_view::npos) safe.push_back('\\');
    safe += bytes;
  }
  return safe;
}

}  // namespace latchkey::detail
