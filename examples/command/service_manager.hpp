// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Tells systemd, or another manager of services with its protocol, how a service is: see sd_notify(3).

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "descriptor.hpp"

namespace command {

class service_manager {
 public:
  /// Tells no one.
  service_manager() = default;

  /// @returns that of this process, as NOTIFY_SOCKET names it.
  static service_manager of_environment() {
    service_manager found;
    const char* const name = std::getenv("NOTIFY_SOCKET");
    if (name != nullptr && (name[0] == '/' || name[0] == '@')) found.name_ = name;
    return found;
  }
  /// As `of_environment`, and takes the name out of it: the children do not speak for the service.
  static service_manager of_this_process() {
    auto found = of_environment();
    ::unsetenv("NOTIFY_SOCKET");
    return found;
  }

  bool is_there() const noexcept { return !name_.empty(); }

  /// @param state as "READY=1". What is not taken is lost.
  void tell(std::string_view state) const {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    if (name_.empty() || name_.size() >= sizeof to.sun_path) return;
    std::memcpy(to.sun_path, name_.data(), name_.size());
    if (name_.front() == '@') to.sun_path[0] = '\0';  // an abstract name
    const descriptor by{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    static_cast<void>(::sendto(by.number(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                               reinterpret_cast<const sockaddr*>(&to), size));
  }

 private:
  std::string name_;
};

}  // namespace command
