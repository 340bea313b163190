// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Descriptors of the C client, which does not tell them.

#include <sys/socket.h>
#include <sys/types.h>

#include <set>

namespace latchkey::detail {

/// The sockets of this process that are connected to `server` are not inherited by programs that it executes. Looks at
/// all its descriptors.
void close_on_exec(const sockaddr_storage& server) noexcept;

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
