// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who may hold the lock: a pure function of the children of its path.

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "queue/rule.hpp"

namespace latchkey::detail {

/// The order of a queue: by number, then by name.
struct rank {
  std::uint32_t number = 0;
  std::string_view name;

  friend auto operator<=>(const rank&, const rank&) = default;
};

/// What a list of children means for one of them.
struct admission {
  enum class verdict {
    granted,  ///< no contender is ahead that must leave first
    wait,     ///< for `blocker` to go
    gone,     ///< the node itself is not in the list
  };
  verdict what{};
  std::string_view blocker;    ///< the nearest of those ahead that must leave first
  std::uint32_t blockers = 0;  ///< how many of them there are
  std::string_view last;       ///< the last of those behind that wait for it; may be empty
  std::uint32_t behind = 0;    ///< how many of them there are
};

/// @param children the names under the lock path, in any order; names of others than contenders are ignored
/// @param me the name of my node in `children`
/// @param mine my kind
/// @note the views point into `children`.
admission admit(std::span<const std::string> children, std::string_view me, const rule& mine);

/// @returns whether a new contender of kind `mine` would have to wait.
bool is_held(std::span<const std::string> children, const rule& mine);

}  // namespace latchkey::detail
