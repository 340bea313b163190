// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How large a transaction may be.

#include <cstddef>

#include <latchkey/client.hpp>

namespace latchkey::detail {

/// Servers take 1 MiB (jute.maxbuffer) and end the connection of who sends more. The rest is for headers.
inline constexpr std::size_t most_transaction_bytes = 900 * 1024;

/// At least what a step takes in a request, besides its texts; also an entry of an ACL.
inline constexpr std::size_t bytes_of_step = 64;

/// @returns what the ACL takes of each request, or step, that creates a node.
inline std::size_t bytes_of_acl(const client_options& options) {
  constexpr std::size_t bytes_of_entry = 12;  // its permissions, and the lengths of its texts
  std::size_t bytes = 0;
  for (const auto& each : options.acl) bytes += bytes_of_entry + each.scheme.size() + each.id.size();
  return bytes;
}

/// @returns at least what a step takes that creates a node, besides its path and data.
inline std::size_t bytes_of_creation(const client_options& options) {
  auto bytes = bytes_of_step;
  for (const auto& each : options.acl) bytes += each.scheme.size() + each.id.size() + bytes_of_step;
  return bytes;
}

}  // namespace latchkey::detail
