// SPDX-License-Identifier: Apache-2.0
#pragma once
// The links between servers, each through a proxy, so that they can be broken.

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "server_process.hpp"

namespace latchkey::testing::detail {

/// Two proxies (quorum port, election port) for every ordered pair of servers.
class link_proxies {
 public:
  /// @param servers  their real ports
  explicit link_proxies(const std::vector<peer_address>& servers);
  ~link_proxies();

  /// What server `from` must believe: its own ports as they are, the others through the proxies.
  [[nodiscard]] std::vector<peer_address> view_of(std::size_t from) const;

  void isolate(std::size_t server, link_fault how);
  void hold_back(std::size_t server, direction which, bool held);
  [[nodiscard]] std::chrono::steady_clock::time_point last_passed(std::size_t server, direction which) const;
  /// Ends every fault of the server, and releases what was held back.
  void heal(std::size_t server);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace latchkey::testing::detail
