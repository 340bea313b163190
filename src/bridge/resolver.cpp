// SPDX-License-Identifier: Apache-2.0
#include "bridge/resolver.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace latchkey::detail {
namespace {

using address_list = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

struct host_and_port {
  std::string host;
  std::string port;
};

host_and_port split(std::string_view text) {
  const auto colon = text.rfind(':');
  auto host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {std::string{host}, std::string{text.substr(colon == std::string_view::npos ? text.size() : colon + 1)}};
}

std::string reason_of(int code) {
  return code == EAI_SYSTEM ? std::generic_category().message(errno) : std::string{::gai_strerror(code)};
}

/// @returns 0 or the code of getaddrinfo.
int look_up(const host_and_port& host, int flags, address_list& found) {
  addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* result = nullptr;
  const int code = ::getaddrinfo(host.host.c_str(), host.port.c_str(), &hints, &result);
  if (code == 0) found.reset(result);
  return code;
}

bool is_address(const std::string& host) {
  in6_addr address{};  // the larger one
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 || ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

bool are_addresses(const std::vector<std::string>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [](const std::string& each) { return is_address(split(each).host); });
}

std::string to_text(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int code =
      ::getnameinfo(address, size, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return code == 0 ? fmt::format("{}:{}", host.data(), port.data()) : std::string{};
}

std::vector<std::string> resolve(const std::vector<std::string>& hosts, std::string& failure) {
  std::vector<std::string> addresses;
  std::vector<std::string> failures;
  for (const auto& each : hosts) {
    const auto host = split(each);
    address_list found{nullptr, &::freeaddrinfo};
    // Only families this machine has an address of; without that it may have none but loopback's.
    int code = look_up(host, AI_NUMERICSERV | AI_ADDRCONFIG, found);
    if (code != 0 && code != EAI_AGAIN) code = look_up(host, AI_NUMERICSERV, found);
    if (code != 0) failures.push_back(fmt::format("{}: {}", each, reason_of(code)));
    for (const auto* next = found.get(); next != nullptr; next = next->ai_next) {
      if (next->ai_family != AF_INET && next->ai_family != AF_INET6) continue;
      auto address = to_text(next->ai_addr, next->ai_addrlen);
      const bool known = std::find(addresses.begin(), addresses.end(), address) != addresses.end();
      if (!address.empty() && !known) addresses.push_back(std::move(address));
    }
  }
  failure = fmt::format("{}", fmt::join(failures, "; "));
  return addresses;
}

std::string to_server_list(std::vector<std::string> addresses, std::minstd_rand& random) {
  std::shuffle(addresses.begin(), addresses.end(), random);
  if (addresses.size() % 2 == 0 && !addresses.empty()) addresses.push_back(addresses.front());
  return fmt::format("{}", fmt::join(addresses, ","));
}

}  // namespace latchkey::detail
