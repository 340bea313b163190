// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The number by which a store refuses a former holder of a lock.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
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
  /// one object that followed directly on one another, or that of the node ahead plus one. In any case it is larger
  /// than the tokens of all who queued before, and smaller than those of all who queued later.
  std::int64_t czxid = 0;
  std::uint32_t turn = 0;  ///< counts the callers of one object that shared those nodes

  /// The later grant has the larger token.
  friend constexpr auto operator<=>(const fencing_token&, const fencing_token&) = default;
};

/// @returns 24 hexadecimal digits. Their order as text is the order of the tokens.
LATCHKEY_EXPORT std::string to_string(fencing_token token);

/// @returns the token that `to_string` printed. @throws std::invalid_argument for any other text
LATCHKEY_EXPORT fencing_token parse_fencing_token(std::string_view text);

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
