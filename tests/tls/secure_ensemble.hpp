// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Servers with a secure port, and stunnel before it.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <latchkey/testing/child_process.hpp>

#include "../announced_ensemble.hpp"

namespace latchkey::testing {

/// @returns the host name in the certificate of a server.
std::string name_of(std::size_t server);

/// Three servers, each with the secure port of its own: that of its clients, on another loopback address. They accept
/// clients with a certificate of `ca.pem` only.
class secure_ensemble {
 public:
  secure_ensemble();

  ensemble& servers() noexcept { return servers_; }
  /// @returns the folder of certificates.sh
  std::filesystem::path folder() const { return servers_.data_dir(); }
  /// @returns where a server listens for TLS.
  endpoint secure_address(std::size_t server) const { return {"127.0.0.2", servers_.address(server).port}; }

 private:
  announced_ensemble servers_;
};

/// One stunnel with a service for each server, as OPERATIONS.md has it.
class tunnel {
 public:
  /// @param authority the file whose certificates are trusted
  /// @param names the host name that is expected of each server
  tunnel(secure_ensemble& to, const std::string& authority, const std::vector<std::string>& names);

  std::string connect_string() const { return connect_string_; }
  /// @returns whether the log has these words.
  bool has_said(const std::string& words) const;

 private:
  std::filesystem::path log_;
  std::string connect_string_;
  child_process stunnel_;
};

}  // namespace latchkey::testing
