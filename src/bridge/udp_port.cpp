// SPDX-License-Identifier: Apache-2.0
#include "bridge/udp_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
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

  int family() const noexcept { return storage.ss_family; }
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr_in& v4() noexcept { return reinterpret_cast<sockaddr_in&>(storage); }
  const sockaddr_in& v4() const noexcept { return reinterpret_cast<const sockaddr_in&>(storage); }
  sockaddr_in6& v6() noexcept { return reinterpret_cast<sockaddr_in6&>(storage); }
  const sockaddr_in6& v6() const noexcept { return reinterpret_cast<const sockaddr_in6&>(storage); }

  std::uint16_t port() const noexcept { return ntohs(family() == AF_INET6 ? v6().sin6_port : v4().sin_port); }
  /// @returns whether it is no single host's: multicast or broadcast.
  bool is_group() const noexcept {
    if (family() == AF_INET6) return IN6_IS_ADDR_MULTICAST(&v6().sin6_addr);
    const auto host = ntohl(v4().sin_addr.s_addr);
    return IN_MULTICAST(host) || host == INADDR_BROADCAST;
  }
  bool is_unspecified() const noexcept {
    return family() == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&v6().sin6_addr) : v4().sin_addr.s_addr == INADDR_ANY;
  }
  /// @returns whether a datagram to it goes to one host, and one socket there.
  bool is_host() const noexcept { return !is_group() && !is_unspecified() && port() != 0; }
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
  if (colon == std::string::npos || text.find('\0') != std::string::npos) return std::nullopt;
  std::uint16_t port = 0;
  const auto* const end = text.data() + text.size();
  if (const auto [last, failure] = std::from_chars(text.data() + colon + 1, end, port);
      failure != std::errc{} || last != end) {
    return std::nullopt;
  }
  auto host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  socket_address made;
  if (::inet_pton(AF_INET, host.c_str(), &made.v4().sin_addr) == 1) {
    made.size = sizeof(sockaddr_in);
    made.storage.ss_family = AF_INET;
    made.v4().sin_port = htons(port);
    return made;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &made.v6().sin6_addr) != 1) return std::nullopt;
  made.size = sizeof(sockaddr_in6);
  made.storage.ss_family = AF_INET6;
  made.v6().sin6_port = htons(port);
  return made;
}

/// @returns the address of `of`, as `parse` reads it, with this port.
std::string text_of(const socket_address& of, std::uint16_t port) {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (of.family() == AF_INET6) {
    ::inet_ntop(AF_INET6, &of.v6().sin6_addr, host.data(), host.size());
    return fmt::format("[{}]:{}", host.data(), port);
  }
  ::inet_ntop(AF_INET, &of.v4().sin_addr, host.data(), host.size());
  return fmt::format("{}:{}", host.data(), port);
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
  if (!where || where->is_group()) refuse("listen", listen, expected);
  family_ = where->family();
  if (!advertised_.empty()) {
    const auto told = parse(advertised_);
    if (!told || !told->is_host()) refuse("advertise", advertised_, expected);
    if (told->family() != family_) {
      refuse("advertise", advertised_, "give one of the family of peer_options::listen, IPv4 or IPv6");
    }
  }
  own_socket made{family_};
  if (made.get() < 0) {
    throw std::system_error{errno, std::generic_category(),
                            "no UDP socket could be created (socket); raise the limit of open files"};
  }
  const int only = 1;  // an IPv4 address would be received in another form than it is written in
  if (family_ == AF_INET6) ::setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  if (::bind(made.get(), where->get(), where->size) != 0) {
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
  if (!own || !towards || towards->family() != family_) return {};
  if (!own->is_unspecified()) return text_of(*own, own->port());
  const own_socket probe{family_};
  if (probe.get() < 0 || ::connect(probe.get(), towards->get(), towards->size) != 0) return {};
  const auto from = name_of(probe.get());
  return from ? text_of(*from, own->port()) : std::string{};
}

void udp_port::send(const std::string& to, std::string_view bytes) noexcept {
  const auto where = parse(to);
  if (!where || where->family() != family_ || !where->is_host()) return;
  ::sendto(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL, where->get(), where->size);
}

void udp_port::receive() {
  std::array<char, 1024> buffer{};
  for (std::size_t i = 0; i < most_at_once; ++i) {
    socket_address from;
    const auto size = ::recvfrom(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT, from.get(), &from.size);
    if (size < 0) return;
    if (on_received_) on_received_(text_of(from, from.port()), {buffer.data(), static_cast<std::size_t>(size)});
  }
}

}  // namespace latchkey::detail
