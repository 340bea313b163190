// SPDX-License-Identifier: Apache-2.0
#include "bridge/close_on_exec.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

/// Calls `what` with each descriptor above those of the standard streams.
template <class Callable>
void for_each_descriptor(Callable what) {
  const auto close = [](DIR* folder) { ::closedir(folder); };
  const std::unique_ptr<DIR, decltype(close)> all{::opendir("/proc/self/fd"), close};
  if (!all) return;
  while (const auto* const each = ::readdir(all.get())) {
    if (const int number = std::atoi(each->d_name); number > 2) what(number);
  }
}

/// Calls `what` with each end of a pipe, and its inode. They are not touched for that: those of others may be closed
/// meanwhile.
template <class Callable>
void for_each_pipe_end(Callable what) {
  for_each_descriptor([&](int number) {
    constexpr std::string_view kind = "pipe:[";
    std::array<char, 64> name{};
    const auto size = ::readlink(("/proc/self/fd/" + std::to_string(number)).c_str(), name.data(), name.size() - 1);
    if (size > 0 && std::string_view{name.data()}.starts_with(kind)) {
      what(number, static_cast<ino_t>(std::strtoull(name.data() + kind.size(), nullptr, 10)));
    }
  });
}

}  // namespace

void close_on_exec(const sockaddr_storage& server) noexcept {
  for_each_descriptor([&](int number) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(number, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && same(peer, server))
      ::fcntl(number, F_SETFD, FD_CLOEXEC);
  });
}

pipes_before::pipes_before() {
  for_each_pipe_end([&](int, ino_t inode) { inodes_.insert(inode); });
}

/// A pipe that another thread makes meanwhile, to pass one end to a child, is in general one that blocks; and what a
/// child gets as a standard stream is a duplicate, which does not have the flag.
void pipes_before::close_later_ones_on_exec() const {
  std::map<ino_t, std::vector<int>> ends;
  for_each_pipe_end([&](int number, ino_t inode) {
    if (!inodes_.contains(inode) && (::fcntl(number, F_GETFL) & O_NONBLOCK) != 0) ends[inode].push_back(number);
  });
  for (const auto& [inode, both] : ends) {
    if (both.size() != 2) continue;
    for (const int number : both) ::fcntl(number, F_SETFD, FD_CLOEXEC);
  }
}

std::error_code why_no_socket() noexcept {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return {errno, std::system_category()};
  ::close(made);
  return {};
}

}  // namespace latchkey::detail
