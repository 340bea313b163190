// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ending the session of another client.

#include <chrono>

#include "latchkey/testing/wire.hpp"

namespace latchkey::testing::detail {

/// Attaches to the session and closes it, in one packet, so that its own client has no time to take it back.
/// @throws session_refused     there is no such session (any more)
/// @throws connection_failure  the session may have been closed
void end_session(const endpoint& server, const session_credentials& session, std::chrono::milliseconds timeout);

}  // namespace latchkey::testing::detail
