// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Descriptors of the C client, which does not tell them, and tells in its log alone that it gets none.

#include <sys/socket.h>
#include <sys/types.h>

#include <set>
#include <system_error>

namespace latchkey::detail {

/// The sockets of this process that are connected to `server` are not inherited by programs that it executes. Looks at
/// all its descriptors.
void close_on_exec(const sockaddr_storage& server) noexcept;

/// @returns why no socket can be opened now, as for want of descriptors; none if one can.
std::error_code why_no_socket() noexcept;

/// The pipes of this process when this was made. Looks at all its descriptors.
class pipes_before {
 public:
  pipes_before();

  /// As `close_on_exec`, of the pipes that have been made since and do not block, at neither end: as the C client's.
  void close_later_ones_on_exec() const;

 private:
  std::set<ino_t> inodes_;
};

}  // namespace latchkey::detail
