// SPDX-License-Identifier: Apache-2.0
#include "base/connect_string.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <latchkey/error.hpp>

#include "base/characters.hpp"
#include "base/escape.hpp"
#include "base/path.hpp"

namespace latchkey::detail {
namespace {

constexpr std::string_view default_port = "2181";
constexpr std::string_view spaces = " \t";

/// The text goes into logs: an at sign may end a user and a password, with any characters, and what follows a sign as in
/// other connect strings may be one.
[[noreturn]] void fail(std::string_view text, std::string_view what) {
  constexpr std::size_t most = 256;
  const auto at = text.find('@') != std::string_view::npos ? text.rfind('@') : text.rfind("%40");
  const bool cut = at != std::string_view::npos;
  if (cut) {
    text.remove_prefix(at);
    what = "has an at sign; write hosts without user and password, which belong in client_options::authentication";
  }
  const auto sign = text.substr(0, text.find('/')).find_first_of(";?&=#");
  const bool cut_end = sign != std::string_view::npos;
  if (cut_end) {
    text = text.substr(0, sign + 1);
    if (!cut) what = "has a sign that no host has; put a comma between two hosts, and nothing else";
  }
  const bool says_what_to_do = what.find(';') != std::string_view::npos;
  throw error{errc::bad_connect_string,
              fmt::format("the connect string \"{}{}{}\" {}{}", cut ? "..." : "", escaped(text.substr(0, most)),
                          cut_end ? "..." : "", cut || cut_end ? what : escaped(what.substr(0, 4 * most)),
                          says_what_to_do ? "" : "; write it like \"zk1:2181,zk2:2181,zk3:2181/chroot\"")};
}

bool is_of_ipv6(char c) { return is_of_name(c) || c == ':' || c == '%'; }

bool is_port(std::string_view text) {
  unsigned number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc{} && end == text.data() + text.size() && number >= 1 && number <= 65535;
}

/// What is left of one host after its name: nothing, or a colon and a port.
std::string_view port_of(std::string_view text, std::string_view host, std::string_view rest) {
  if (rest.empty()) return default_port;
  if (rest.front() != ':') fail(text, fmt::format("has characters between the address and the port of \"{}\"", host));
  rest.remove_prefix(1);
  if (!is_port(rest))
    fail(text, fmt::format("has \"{}\" for the port of \"{}\"; write a number from 1 to 65535", rest, host));
  return rest;
}

std::string parse_ipv6(std::string_view text, std::string_view host) {
  const auto bracket = host.find(']');
  if (bracket == std::string_view::npos) fail(text, fmt::format("has no closing bracket in \"{}\"", host));
  const auto address = host.substr(1, bracket - 1);
  if (address.find(':') == std::string_view::npos || !std::all_of(address.begin(), address.end(), is_of_ipv6)) {
    fail(text, fmt::format("has \"{}\" in brackets, which is not an IPv6 address", address));
  }
  return fmt::format("[{}]:{}", address, port_of(text, host, host.substr(bracket + 1)));
}

std::string parse_host(std::string_view text, std::string_view host) {
  if (host.empty()) fail(text, "has an empty host; write one host between two commas, and no comma at the end");
  if (host.find_first_of(spaces) != std::string_view::npos)
    fail(text, fmt::format("has a space in \"{}\"; put a comma between two hosts", host));
  if (host.front() == '[') return parse_ipv6(text, host);
  if (std::count(host.begin(), host.end(), ':') > 1) {
    fail(text,
         fmt::format("has several colons in \"{}\"; write an IPv6 address in brackets, as in \"[::1]:2181\"", host));
  }
  const auto name = host.substr(0, host.find(':'));
  if (name.empty()) fail(text, fmt::format("has no name before the port in \"{}\"", host));
  const auto odd = std::find_if_not(name.begin(), name.end(), is_of_name);
  if (odd != name.end()) {
    fail(text,
         fmt::format("has a character that no host name has, at position {} of \"{}\"", odd - name.begin() + 1, host));
  }
  if (std::all_of(name.begin(), name.end(), is_digit)) {  // getaddrinfo would take it for an address
    fail(text, fmt::format("has only a number for a host, \"{}\"; write \"zk1:2181\", host and port", host));
  }
  return fmt::format("{}:{}", name, port_of(text, host, host.substr(name.size())));
}

std::string parse_chroot(std::string_view text, std::string_view chroot) {
  if (chroot.size() <= 1) return {};
  if (chroot.find(',') != std::string_view::npos)
    fail(text, "has a comma in the chroot; write the chroot once, after the last host");
  const auto fault = path_fault(chroot);
  if (!fault.empty()) fail(text, fmt::format("has a chroot \"{}\" that {}", chroot, fault));
  return std::string{chroot};
}

}  // namespace

connect_string parse_connect_string(std::string_view text) {
  const auto all = trimmed(text, spaces);
  if (all.empty()) fail(text, "is empty");
  if (all.find("://") != std::string_view::npos)
    fail(text, "has a scheme; leave it out, as in \"zk1:2181,zk2:2181/chroot\"");
  const auto slash = std::min(all.find('/'), all.size());
  connect_string result;
  if (slash == 0) fail(text, "has no host before the chroot; write it as in \"zk1:2181,zk2:2181/chroot\"");
  result.chroot = parse_chroot(text, all.substr(slash));
  for (auto rest = all.substr(0, slash);;) {
    const auto comma = rest.find(',');
    result.hosts.push_back(parse_host(text, trimmed(rest.substr(0, comma), spaces)));
    if (comma == std::string_view::npos) return result;
    rest.remove_prefix(comma + 1);
  }
}

std::string connect_string::list() const { return fmt::format("{}", fmt::join(hosts, ",")); }

}  // namespace latchkey::detail
