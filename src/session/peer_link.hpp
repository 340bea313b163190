// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What both halves of `peers` share.

#include <memory>
#include <string_view>

#include <latchkey/metrics.hpp>

#include "bridge/datagram_port.hpp"
#include "bridge/monitor.hpp"
#include "session/peer_message.hpp"

namespace latchkey::detail {

/// What the names of all entries of one client and path have in common: "_c_", and half of the UUID that follows.
inline std::string_view family_of(std::string_view name) noexcept { return name.substr(0, 21); }

struct peer_link {
  peer_link(monitor& of, std::unique_ptr<datagram_port> through);

  /// @returns a number that cannot be told without the secret.
  peer_key hash(std::string_view text) const noexcept;
  /// @returns what the messages about an entry of this client are signed with: the same for all of its path.
  peer_key key_of(std::string_view name) const noexcept { return hash(family_of(name)); }

  monitor& own;
  const std::unique_ptr<datagram_port> port;
  peer_metrics counts;

 private:
  peer_key secret_{};
};

}  // namespace latchkey::detail
