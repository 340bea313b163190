// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How a lock passes from one process to the next.

#include <cstdint>
#include <string>

namespace latchkey {

/// How the contender behind hears of a release.
enum class hand_off : std::uint8_t {
  /// From the ensemble: a quorum has written the deletion of the holder's node.
  ensemble,
  /// The lock no longer orders reads through ZooKeeper: the next holder may not see yet what the holder before it has
  /// written there. For other data: a datagram from the holder's process tells, long before a quorum has written.
  ///
  /// Only between locks that choose it, of clients with `client_options::peers`. Whatever keeps the datagram away, the
  /// ensemble tells, as without it. A grant that has given out a sequencer, or whose transaction has not been answered,
  /// is always handed off by the ensemble.
  direct,
  /// As `direct`, but the next holder is granted after a `sync`, a round trip later: what the holder before it has
  /// written to ZooKeeper is visible.
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
