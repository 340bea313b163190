// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Says for whom a call waits so long.

#include <cstddef>
#include <string>

#include "queue/rule.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// Logs who holds the lock: the first in its queue that contenders of kind `kind` wait for. Reads the list and that
/// node; says nothing if there is no connection, or nobody holds the lock then. With the monitor held.
/// @param path of the lock, below the chroot
/// @param waited how long the first of `calls` calls has waited at least
void report_long_wait(client_core& core, const std::string& path, const rule& kind, duration waited, std::size_t calls);

}  // namespace latchkey::detail
