// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The number that lets a store refuse who has lost the lock.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace latchkey {

/// Strictly increasing over the owners of a lock: over sessions, processes, changes of the leader and re-created
/// parents. Hand it to what the lock protects, and let that refuse every token smaller than the largest it has seen (M.
/// Kleppmann, "How to do distributed locking", 2016).
struct fencing_token {
  /// Made by the ensemble: that of the node that holds the place in the queue, or of the first of several nodes of ours
  /// that followed directly on one another, or the one after that of the node ahead; in any case larger than those of
  /// all who queued before, and smaller than those of all who queued later.
  std::int64_t czxid = 0;
  std::uint32_t turn = 0;  ///< counts the callers of one process that shared those nodes

  /// A later owner has the larger token.
  friend constexpr auto operator<=>(const fencing_token&, const fencing_token&) = default;
};

/// @returns 24 hexadecimal digits, whose order as text is the order of the tokens.
std::string to_string(fencing_token token);

/// @returns the token that `to_string` printed. @throws std::invalid_argument for any other text.
fencing_token parse_fencing_token(std::string_view text);

}  // namespace latchkey
