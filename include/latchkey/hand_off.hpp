// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How a lock passes from one process to the next.

#include <cstdint>
#include <string>

#include <latchkey/export.hpp>

namespace latchkey {

/// How the next contender learns of a release.
enum class hand_off : std::uint8_t {
  /// From the ensemble: a quorum has written the deletion of the holder's node.
  ensemble,
  /// From a datagram of the holder's process, long before a quorum has written. For data outside ZooKeeper: the lock no
  /// longer orders reads through it, so the next holder may not yet see what the previous one wrote there.
  ///
  /// Needs `direct` or `direct_then_sync` on both sides, and `client_options::peers`. If no datagram arrives, the
  /// ensemble hands off, as without the option; in a fast sequence of hand-offs up to 10 ms later. A grant that has given
  /// out a sequencer, or whose transaction has not been answered, is always handed off by the ensemble.
  ///
  /// Force reaches further: if an operator deletes the node of a waiter, or ends its session, then a datagram may still
  /// grant it the lock, until it learns of that; the ensemble then grants it to another one, too. While the server of
  /// the waiter is cut off, that takes until the end of its lease. Tokens stay in order.
  direct,
  /// As `direct`, but the grant follows a write that a quorum has acknowledged: the next holder sees what the previous
  /// one wrote to ZooKeeper, and a waiter without a node is not granted the lock. Saves less: the way of the deletion
  /// to the next holder, and its list.
  direct_then_sync,
};

/// Where a client receives datagrams of other clients (UDP). `client_metrics::peers` tells whether they arrive.
struct peer_options {
  /// A numeric address of this host and a port; port 0: any. IPv6 as "[::]:0".
  std::string listen{"0.0.0.0:0"};
  /// The numeric address and port that others send to. Empty: the address from which this host reaches the ensemble,
  /// and the port of `listen`.
  std::string advertise{};
};

}  // namespace latchkey
