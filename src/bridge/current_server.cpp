// SPDX-License-Identifier: Apache-2.0
#include "bridge/current_server.hpp"

#include <sys/socket.h>

#include "bridge/close_on_exec.hpp"
#include "bridge/resolver.hpp"

namespace latchkey::detail {

std::string server_of(zhandle_t* handle) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  if (zookeeper_get_connected_host(handle, address, &size) == nullptr) return {};
  close_on_exec(storage);
  return to_text(address, size);
}

std::string foreign_server_of(zhandle_t* handle) {
  const auto* const current = zoo_get_current_server(handle);
  std::string name = current == nullptr ? "" : current;
  std::erase_if(name, [](char each) { return each == '[' || each == ']'; });  // as `to_text` has it
  return zoo_state(handle) == ZOO_READONLY_STATE ? name : std::string{};
}

}  // namespace latchkey::detail
