// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The life of an entry, as a table.

#include <cstdint>

#include "base/checked_state.hpp"

namespace latchkey::detail {

enum class entry_state : std::uint8_t {
  over,          ///< not begun, or ended: what it had is with the reaper
  disconnected,  ///< waits for a connection
  asking,        ///< to look, enqueue, list, recover or downgrade: the answer says how it goes on
  waiting,       ///< for the one ahead to go: with a watch on its node, as its neighbour, or to be told by datagram
  confirming,    ///< let in without a list: reads whether its own node is still there
  proving,       ///< let in: the session has yet to be proved alive
  granted,
};

/// Every state may end (`leave`, a failure, a loss), may lose its connection, and may have to begin again (its session is
/// over, its node was deleted).
// clang-format off
// to:                   over   disconnected  asking  waiting  confirming  proving  granted
inline constexpr transitions<7> may_follow{{
    /* over */         {false, true,         false,  false,   false,      false,   false},  // start
    /* disconnected */ {true,  true,         true,   false,   false,      false,   false},  // connected
    /* asking */       {true,  true,         true,   true,    true,       true,    true},   // with or without one ahead
    /* waiting */      {true,  true,         true,   true,    true,       true,    true},   // the one ahead has gone
    /* confirming */   {true,  true,         true,   false,   true,       true,    true},   // its node is there
    /* proving */      {true,  true,         true,   false,   true,       true,    true},   // a quorum has answered
    /* granted */      {true,  true,         true,   false,   false,      true,    false},  // downgrade, refresh
}};
// clang-format on

}  // namespace latchkey::detail
