// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a ticket's node says about its owner, for the people who look at a queue.

#include <string>
#include <string_view>

#include "base/node_name.hpp"

namespace latchkey::detail {

/// @returns a small JSON object: label, host, pid, kind, and when it was enqueued (UTC, ISO 8601).
/// @param label of the client; empty: the name of the program
std::string describe_ticket(std::string_view label, contender_kind kind);

}  // namespace latchkey::detail
