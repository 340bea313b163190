// SPDX-License-Identifier: Apache-2.0
#include "bridge/close_on_exec.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace latchkey::detail {
namespace {

bool same(const sockaddr_storage& one, const sockaddr_storage& other) noexcept {
  if (one.ss_family != other.ss_family) return false;
  if (one.ss_family == AF_INET) {
    const auto& a = reinterpret_cast<const sockaddr_in&>(one);
    const auto& b = reinterpret_cast<const sockaddr_in&>(other);
    return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
  }
  const auto& a = reinterpret_cast<const sockaddr_in6&>(one);
  const auto& b = reinterpret_cast<const sockaddr_in6&>(other);
  return one.ss_family == AF_INET6 && a.sin6_port == b.sin6_port &&
         std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
}

}  // namespace

void close_on_exec(const sockaddr_storage& server) noexcept {
  const auto close = [](DIR* folder) { ::closedir(folder); };
  const std::unique_ptr<DIR, decltype(close)> all{::opendir("/proc/self/fd"), close};
  if (!all) return;
  while (const auto* const each = ::readdir(all.get())) {
    const int number = std::atoi(each->d_name);
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (number <= 2 || ::getpeername(number, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (same(peer, server)) ::fcntl(number, F_SETFD, FD_CLOEXEC);
  }
}

}  // namespace latchkey::detail
