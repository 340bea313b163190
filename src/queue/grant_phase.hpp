// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The life of a grant, as a table.

#include <array>
#include <cstddef>
#include <cstdint>

namespace latchkey::detail {

enum class grant_phase : std::uint8_t { held, suspect, lost, released };

enum class grant_event : std::uint8_t {
  proof_overdue,    ///< half the session timeout has gone by since the newest proof was sent
  proof,            ///< a quorum has acknowledged that the session lives
  deadline_passed,  ///< the session may be over
  ended,            ///< session expired, node gone, client closed, access revoked
  unlocked,
};

/// @returns what becomes of a grant in state `from` through `event`. What is over stays as it is.
constexpr grant_phase after(grant_phase from, grant_event event) noexcept {
  using enum grant_phase;
  // clang-format off
  // event:           proof_overdue  proof     deadline_passed  ended     unlocked
  constexpr std::array<std::array<grant_phase, 5>, 4> table{{
      /* held     */ {suspect,       held,     lost,            lost,     released},
      /* suspect  */ {suspect,       held,     lost,            lost,     released},
      /* lost     */ {lost,          lost,     lost,            lost,     lost},
      /* released */ {released,      released, released,        released, released},
  }};
  // clang-format on
  return table[static_cast<std::size_t>(from)][static_cast<std::size_t>(event)];
}

constexpr bool is_over(grant_phase state) noexcept {
  return state == grant_phase::lost || state == grant_phase::released;
}

}  // namespace latchkey::detail
