// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sockets that stay with this process.

#include <fcntl.h>

namespace latchkey::testing::detail {

/// A program that is started meanwhile must not keep a connection open that we close, nor a port (Asio sets no such flag).
template <class Socket>
void close_on_exec(Socket& socket) noexcept {
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

}  // namespace latchkey::testing::detail
