// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What an entry's node says about its owner, for the people who look at a queue.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/node_name.hpp"

namespace latchkey::detail {

/// @returns a small JSON object: label, host, pid, kind, and when it was enqueued (UTC, ISO 8601).
/// @param label of the client; empty: the name of the program
std::string describe_owner(std::string_view label, contender_kind kind);

/// What the record of an entry of ours says of its owner; empty in what others write.
struct entry_owner {
  std::string label;
  std::string host;
  std::int64_t pid = 0;
};

/// @param data of any node
entry_owner read_owner(std::string_view data);

}  // namespace latchkey::detail
