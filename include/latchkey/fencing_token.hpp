// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The number by which a store refuses a former holder of a lock.

#include <array>
#include <charconv>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <latchkey/export.hpp>

namespace latchkey {

/// A number that strictly increases over the grants of one lock path: over processes, sessions, changes of the leader
/// and re-created parents.
///
/// Hand it to the resource that the lock protects, and let that refuse every token smaller than the largest it has seen
/// (M. Kleppmann, "How to do distributed locking", 2016).
///
/// The readers of a `shared_mutex` hold it together: their tokens may have any order among themselves.
struct fencing_token {
  /// A transaction id (zxid) of the ensemble. It is the czxid of the holder's node, or of the first of several nodes of
  /// one object that followed directly on one another, or that of the last change of the queue before the grant. In any
  /// case it is larger than the tokens of all who queued before, and smaller than those of all who queued later.
  std::int64_t czxid = 0;
  std::uint32_t turn = 0;  ///< counts the callers of one object that shared those nodes

  /// The later grant has the larger token.
  friend constexpr auto operator<=>(const fencing_token&, const fencing_token&) = default;
};

/// @returns 24 hexadecimal digits. Their order as text is the order of the tokens.
inline std::string to_string(fencing_token token) {
  std::string text(24, '0');
  const auto print = [&](std::uint64_t number, std::size_t end) {
    std::array<char, 16> digits{};
    const auto* const stop = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
    const std::string_view printed{digits.data(), static_cast<std::size_t>(stop - digits.data())};
    text.replace(end - printed.size(), printed.size(), printed);
  };
  print(static_cast<std::uint64_t>(token.czxid), 16);
  print(token.turn, 24);
  return text;
}

/// @returns the token that `to_string` printed. @throws std::invalid_argument for any other text
inline fencing_token parse_fencing_token(std::string_view text) {
  const auto parse = [](std::string_view digits, auto& number) {
    const auto* const end = digits.data() + digits.size();
    const auto [stop, code] = std::from_chars(digits.data(), end, number, 16);
    return code == std::errc{} && stop == end;
  };
  std::uint64_t czxid = 0;
  std::uint32_t turn = 0;
  if (text.size() != 24 || !parse(text.substr(0, 16), czxid) || !parse(text.substr(16), turn)) {
    throw std::invalid_argument{"\"" + std::string{text} +
                                "\" is not a fencing token; pass the 24 hexadecimal digits of to_string()"};
  }
  return {static_cast<std::int64_t>(czxid), turn};
}

}  // namespace latchkey

namespace std {

/// For unordered containers.
template <>
struct hash<latchkey::fencing_token> {
  /// @returns a hash of both numbers.
  size_t operator()(latchkey::fencing_token token) const noexcept {
    return hash<uint64_t>{}(static_cast<uint64_t>(token.czxid) * 0x9e3779b97f4a7c15 + token.turn);
  }
};

}  // namespace std
