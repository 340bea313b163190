// SPDX-License-Identifier: Apache-2.0
#include "reserved_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "latchkey/testing/error.hpp"

namespace latchkey::testing::detail {

reserved_port::reserved_port(std::uint16_t wanted) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(wanted);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const int yes = 1;
  // The option comes after bind: so no other process has the port now, and it can be shared with its listener later.
  if (!socket_ || ::bind(socket_.value(), generic, size) != 0 || ::getsockname(socket_.value(), generic, &size) != 0 ||
      ::setsockopt(socket_.value(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0) {
    const auto what = wanted == 0 ? std::string{"no free port"} : "port " + std::to_string(wanted) + " is not free";
    throw cluster_error(what + " on 127.0.0.1: " + std::strerror(errno));
  }
  number_ = ntohs(address.sin_port);
}

}  // namespace latchkey::testing::detail
