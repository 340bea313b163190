// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the node of an entry says about its owner, for operators who read a queue.

#include <cstdint>
#include <string>
#include <string_view>

namespace latchkey::detail {

/// @param label of the client
/// @returns how the owner of a node is called: by the label, or by the name of the program if that is empty.
std::string name_of_owner(std::string_view label);

/// @returns a small JSON object: label, host, pid, kind, and when it was enqueued (UTC, ISO 8601).
/// @param label of the client, for `name_of_owner`
std::string describe_owner(std::string_view label, std::string_view kind);

/// The owner in the record of an entry of latchkey's; empty for the data of other clients.
struct contender_record {
  std::string label;
  std::string host;
  std::int64_t pid = 0;
};

/// @param label of the client, for `name_of_owner`
/// @returns this process.
contender_record this_owner(std::string_view label);

/// @param data of any node
contender_record read_owner(std::string_view data);

}  // namespace latchkey::detail
