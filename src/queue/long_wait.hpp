// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Finds out whom a call has been waiting for.

#include <cstddef>
#include <string>

#include "queue/rule.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// Logs who holds the lock: the first contender in its queue for which one of kind `kind` has to wait. Reads the list,
/// has the leader check that node, and reads it. Says nothing if there is no connection, or if the lock is not held
/// any more.
///
/// A server that has lost a transaction (HAZARDS S19) may show a deleted node, and never report its deletion. Such a
/// node is disregarded until the session ends.
/// @param path of the lock, below the chroot
/// @param waited the least time that the first of `calls` calls has waited
void look_into_long_wait(client_core& core, const std::string& path, const rule& kind, duration waited,
                         std::size_t calls);

}  // namespace latchkey::detail
