// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Finds out for whom a call waits so long.

#include <cstddef>
#include <string>

#include "queue/rule.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// Logs who holds the lock: the first in its queue that contenders of kind `kind` wait for. Reads the list, has the
/// leader check that node, and reads it; says nothing if there is no connection, or nobody holds the lock then. With the
/// monitor held.
///
/// A server that has lost a transaction (HAZARDS S19) may show a node that has gone, and will never tell of its end: it
/// is disregarded from then on.
/// @param path of the lock, below the chroot
/// @param waited how long the first of `calls` calls has waited at least
void look_into_long_wait(client_core& core, const std::string& path, const rule& kind, duration waited,
                         std::size_t calls);

}  // namespace latchkey::detail
