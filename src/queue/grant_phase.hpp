// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The life of a grant, as a table.

#include <array>
#include <cstddef>
#include <cstdint>

namespace latchkey::detail {

enum class grant_phase : std::uint8_t {
  held,
  suspect,
  releasing,  ///< a transaction that gives up the place is under way: another may be granted the lock at any moment
  lost,
  released,
};

enum class grant_event : std::uint8_t {
  proof_overdue,    ///< half the session timeout has gone by since the newest proof was sent
  proof,            ///< a quorum has acknowledged that the session lives
  deadline_passed,  ///< the session may be over
  ended,            ///< session expired, node gone, client closed, access revoked, held too long
  unlocked,
  release_sent,     ///< along with a transaction
  release_refused,  ///< that has not been applied
};

/// @returns what becomes of a grant in state `from` through `event`. What is over stays as it is.
constexpr grant_phase after(grant_phase from, grant_event event) noexcept {
  using enum grant_phase;
  // clang-format off
  // event:           proof_overdue  proof      deadline_passed  ended     unlocked  release_sent  release_refused
  constexpr std::array<std::array<grant_phase, 7>, 5> table{{
      /* held      */ {suspect,       held,      lost,            lost,     released, releasing,    held},
      /* suspect   */ {suspect,       held,      lost,            lost,     released, releasing,    suspect},
      /* releasing */ {releasing,     releasing, lost,            lost,     released, releasing,    held},
      /* lost      */ {lost,          lost,      lost,            lost,     lost,     lost,         lost},
      /* released  */ {released,      released,  released,        released, released, released,     released},
  }};
  // clang-format on
  return table[static_cast<std::size_t>(from)][static_cast<std::size_t>(event)];
}

constexpr bool is_over(grant_phase state) noexcept {
  return state == grant_phase::lost || state == grant_phase::released;
}

/// @returns whether no other can have been granted the lock, while the lease lasts.
constexpr bool is_held(grant_phase state) noexcept {
  return state == grant_phase::held || state == grant_phase::suspect;
}

}  // namespace latchkey::detail
