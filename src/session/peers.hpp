// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who hears of a release by datagram.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <latchkey/metrics.hpp>

#include "session/awaited_peers.hpp"
#include "session/departures.hpp"
#include "session/peer_link.hpp"
#include "session/waiting_peers.hpp"

namespace latchkey::detail {

/// The entries of this client that others wait for, and the entries of others that ours wait for. Each is known by the
/// name of its node, which is unique. Only "released" lets an entry in. Once true it stays true, so the message may be
/// lost, late, doubled or replayed.
class peers {
 public:
  peers(monitor& own, std::unique_ptr<datagram_port> port);
  ~peers();
  peers(const peers&) = delete;
  peers& operator=(const peers&) = delete;

  /// @param server that the client is connected to
  void on_connected(const std::string& server);

  /// @returns a UUID for an entry at `path`. All those of a path begin alike, so one advert applies to all.
  std::string unique_id(std::string_view path) const;
  /// @param name of the node, with or without its number. @returns nothing while this client has no address
  std::optional<peer_advert> advert(std::string_view name) const;

  waiting_peers& waiting() noexcept { return waiting_; }
  awaited_peers& awaited() noexcept { return awaited_; }
  /// An entry of ours is no longer in its queue. @param name of its node
  void remove(const std::string& name);

  /// Of entries that are closed.
  detail::departures& departures() noexcept { return departures_; }

  peer_metrics& counts() noexcept { return link_.counts; }
  const peer_metrics& counts() const noexcept { return link_.counts; }

 private:
  void on_received(const std::string& from, std::string_view bytes);

  peer_link link_;
  waiting_peers waiting_{link_};
  awaited_peers awaited_{link_};
  detail::departures departures_;
  std::string address_;
  bool said_ = false;  // that there is none
};

}  // namespace latchkey::detail
