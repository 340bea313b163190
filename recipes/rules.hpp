// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The rules of the locks, one for each kind of contender.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "queue/rule.hpp"

namespace latchkey::detail {

enum class contender_kind : std::uint8_t { lock, read, write, latch, permit };

const rule& rule_of(contender_kind kind) noexcept;

/// @returns the rule of a caller who waits for its turn, then for permits. No entry has it, as leases are counted.
const rule& counting_rule() noexcept;

/// Below the path of a semaphore: who waits for permits, and who has them.
inline constexpr std::string_view permit_turns = "locks";
inline constexpr std::string_view permit_leases = "leases";

inline std::string_view to_string(contender_kind kind) noexcept { return rule_of(kind).name; }

/// @returns whether a contender of kind `theirs` that is ahead must go before one of kind `mine` is let in.
inline bool blocks(contender_kind theirs, contender_kind mine) noexcept {
  return rule_of(mine).waits_for_kind(rule_of(theirs));
}

/// Where a child of a lock path stands in the queue.
struct position {
  std::uint32_t number = 0;
  contender_kind kind{};
};

/// @throws error bad_path for one that cannot be the path of a lock, or that a lock at its parent would take for an entry
/// of a contender, and wait for
/// @param chroot of the client; empty: the root
void require_lock_path(std::string_view path, std::string_view chroot = {});

/// @throws error bad_option for a time, as an option of a lock, that is negative
void require_not_negative(const char* option, std::chrono::nanoseconds time, const std::string& path);

/// @returns the position of the child with this name; nothing for one that is not a contender (any name is tolerated).
std::optional<position> parse_contender(std::string_view name) noexcept;

}  // namespace latchkey::detail
