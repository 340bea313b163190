// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Requests of no ticket: to look at a queue, and to speak to those in it.

#include <string>
#include <vector>

#include "session/client_core.hpp"

namespace latchkey::detail {

/// Sends requests that may be repeated, in one round trip, and waits for the answers: through outages and lost
/// sessions, where it sends them again. Without the strand; suspends the fiber, or blocks the thread.
/// @param path of the lock, for the errors
/// @returns the answers, in the order of the requests, each `ok` or `no_node`; children without our own that are
/// about to go
/// @throws error unreachable (no answers within `timeout`), not_authorised, closed, ...
std::vector<reply> inquire(client_core& core, const std::string& path, std::vector<request> what, duration timeout);

}  // namespace latchkey::detail
