// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Sockets of the C client, which does not tell them.

#include <sys/socket.h>

namespace latchkey::detail {

/// The sockets of this process that are connected to `server` are not inherited by programs that it executes. Looks at
/// all its descriptors.
void close_on_exec(const sockaddr_storage& server) noexcept;

}  // namespace latchkey::detail
