// SPDX-License-Identifier: Apache-2.0
#include "bridge/udp_port.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <latchkey/error.hpp>

namespace latchkey::detail {
namespace {

struct socket_address {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;

  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// A descriptor, closed at the end of the scope.
class own_socket {
 public:
  explicit own_socket(int family) noexcept : fd_{::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)} {}
  ~own_socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  own_socket(const own_socket&) = delete;
  own_socket& operator=(const own_socket&) = delete;

  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// @param text "10.1.2.3:40123", "[fd00::1]:40123", or without the brackets, as a server is named in `session_info`
std::optional<socket_address> parse(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  auto host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), text.c_str() + colon + 1, &hints, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{found, &::freeaddrinfo};
  socket_address made;
  made.size = found->ai_addrlen;
  std::copy_n(reinterpret_cast<const char*>(found->ai_addr), found->ai_addrlen, reinterpret_cast<char*>(&made.storage));
  return made;
}

/// @returns host and port, numeric, as `parse` reads them; empty host for none.
std::pair<std::string, std::string> parts(const socket_address& of) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(of.get(), of.size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host.data(), port.data()};
}

std::string endpoint_of(int family, const std::string& host, const std::string& port) {
  if (host.empty()) return {};
  return family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string text_of(const socket_address& of) {
  const auto [host, port] = parts(of);
  return endpoint_of(of.storage.ss_family, host, port);
}

std::optional<socket_address> name_of(int fd) {
  socket_address own;
  if (::getsockname(fd, own.get(), &own.size) != 0) return std::nullopt;
  return own;
}

[[noreturn]] void refuse(const char* option, const std::string& value, const std::string& why) {
  throw error{errc::bad_option, fmt::format("peer_options::{} is \"{}\": {}", option, value, why)};
}

constexpr auto expected = "give a numeric address and a port, as \"10.1.2.3:40123\" or \"[fd00::1]:40123\"";

}  // namespace

udp_port::udp_port(const std::string& listen, std::string advertise) : advertised_{std::move(advertise)} {
  const auto where = parse(listen);
  if (!where) refuse("listen", listen, expected);
  if (!advertised_.empty() && !parse(advertised_)) refuse("advertise", advertised_, expected);
  family_ = where->storage.ss_family;
  own_socket made{family_};
  if (made.get() < 0 || ::bind(made.get(), where->get(), where->size) != 0) {
    refuse("listen", listen,
           std::generic_category().message(errno) + "; choose an address of this host and a free port");
  }
  fd_ = made.release();
}

udp_port::~udp_port() { ::close(fd_); }

/// A datagram socket that is connected sends nothing, but has the address from which it would.
std::string udp_port::address(const std::string& server) const {
  if (!advertised_.empty()) return advertised_;
  const auto own = name_of(fd_);
  const auto towards = parse(server);
  if (!own || !towards || towards->storage.ss_family != family_) return {};
  const own_socket probe{family_};
  if (probe.get() < 0 || ::connect(probe.get(), towards->get(), towards->size) != 0) return {};
  const auto from = name_of(probe.get());
  return from ? endpoint_of(family_, parts(*from).first, parts(*own).second) : std::string{};
}

void udp_port::send(const std::string& to, std::string_view bytes) noexcept {
  const auto where = parse(to);
  if (!where || where->storage.ss_family != family_) return;
  ::sendto(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL, where->get(), where->size);
}

void udp_port::receive() {
  std::array<char, 1024> buffer{};
  for (std::size_t i = 0; i < most_at_once; ++i) {
    socket_address from;
    const auto size = ::recvfrom(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT, from.get(), &from.size);
    if (size < 0) return;
    if (on_received_) on_received_(text_of(from), {buffer.data(), static_cast<std::size_t>(size)});
  }
}

}  // namespace latchkey::detail
