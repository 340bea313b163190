// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How `latchkey` reaches the ensemble: from options, the environment and a file.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/access.hpp>
#include <latchkey/client.hpp>

namespace command {

inline constexpr const char* default_config_file = "/etc/latchkey.conf";

/// As given by options; empty: not given.
struct settings {
  std::string connect;
  std::string auth_file;
  std::string session_timeout;
  std::string label;
  std::string acl{};                   ///< of the nodes that are created: see `latchkey::parse_acl`
  std::optional<std::string> peers{};  ///< of direct hand-off: see `parse_peers`
  std::string tls{};                   ///< files, as "ca.pem,client.pem,client.key"
  std::string session_file{};          ///< of a client that holds; empty: none
  std::string config;                  ///< the file; empty: the default one, which may be missing
  std::chrono::milliseconds timeout = std::chrono::seconds{10};
  bool verbose = false;
};

inline constexpr std::chrono::milliseconds longest_duration = std::chrono::hours{24};

inline constexpr std::chrono::milliseconds longest_age = std::chrono::hours{24 * 3650};

/// @returns "LISTEN" or "LISTEN,ADVERTISE", each an address and a port; empty: the default. @throws usage_error
latchkey::peer_options parse_peers(std::string_view text);

/// Fills in what was not given: from the environment, else from the file.
/// @param environment as `std::getenv` @throws usage_error: one of them is wrong, and where it stands
void fill_in(settings& given, const std::function<const char*(const char*)>& environment);

std::string host_name();

/// The time that a command may take.
class budget {
 public:
  explicit budget(std::chrono::milliseconds whole) : whole_{whole}, end_{std::chrono::steady_clock::now() + whole} {}
  /// @returns zero when it is over.
  std::chrono::nanoseconds left() const;
  /// @returns as much time, from now.
  budget again() const { return budget{whole_}; }

 private:
  std::chrono::milliseconds whole_;
  std::chrono::steady_clock::time_point end_;
};

/// What a client is for.
enum class purpose { look, hold };

/// @returns a client that has begun to connect. @throws usage_error, latchkey::error
std::unique_ptr<latchkey::client> make_client(const settings& with, purpose what);

inline bool never() { return false; }

/// @param given_up asked now and then
/// @returns a client that is connected, unless it has been given up. @throws usage_error, latchkey::error
std::unique_ptr<latchkey::client> connect(const settings& with, const budget& time, purpose what = purpose::look,
                                          const std::function<bool()>& given_up = never);

}  // namespace command
