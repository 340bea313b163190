// SPDX-License-Identifier: Apache-2.0
/// The text of a token. Where tokens come from: `queue_entry::fence`.

#include <charconv>
#include <stdexcept>

#include <fmt/format.h>
#include <latchkey/fencing_token.hpp>

namespace latchkey {

std::string to_string(fencing_token token) {
  return fmt::format("{:016x}{:08x}", static_cast<std::uint64_t>(token.czxid), token.turn);
}

fencing_token parse_fencing_token(std::string_view text) {
  std::uint64_t czxid = 0;
  std::uint32_t turn = 0;
  const auto digits = [](std::string_view part, auto& number) {
    const auto end = part.data() + part.size();
    const auto [stop, code] = std::from_chars(part.data(), end, number, 16);
    return code == std::errc{} && stop == end;
  };
  if (text.size() != 24 || !digits(text.substr(0, 16), czxid) || !digits(text.substr(16), turn)) {
    throw std::invalid_argument{"\"" + std::string{text} +
                                "\" is not a fencing token; pass the 24 hexadecimal digits of to_string()"};
  }
  return {static_cast<std::int64_t>(czxid), turn};
}

}  // namespace latchkey
