// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What goes wrong in a simulated ensemble, and how often.

#include <chrono>

#include "simulation/random_source.hpp"

namespace latchkey::testing {

/// Of a message: between two times, and now and then up to a longer one.
struct delay_range {
  duration least{};
  duration most{};
  double slow = 0;  ///< the probability of the longer one
  duration slowest{};

  duration draw(random_source& random) const noexcept {
    return slow > 0 && random.chance(slow) ? random.between(most, slowest) : random.between(least, most);
  }
};

/// A calm network unless told otherwise. Probabilities are per event, "every" is the mean virtual time between two
/// faults of the kind over the whole ensemble; zero: never.
struct fault_plan {
  delay_range network{std::chrono::microseconds{50}, std::chrono::microseconds{500}};   ///< client to server, each way
  delay_range consensus{std::chrono::microseconds{100}, std::chrono::milliseconds{2}};  ///< server to leader to commit
  delay_range lag{std::chrono::nanoseconds{0}, std::chrono::milliseconds{1}};           ///< commit to a server's tree
  delay_range watch_delay{};  ///< of a watch event, on top of `network`
  delay_range look_up{};      ///< of the host names, before that
  delay_range opening{std::chrono::microseconds{100}, std::chrono::milliseconds{5}};  ///< from `open` to the handle
  delay_range reconnecting{std::chrono::milliseconds{1}, std::chrono::milliseconds{50}};
  duration epoch{};  ///< what the clock of the simulation counts from, since 1970
  duration tick = std::chrono::seconds{2};
  duration sync_limit = std::chrono::seconds{10};  ///< for how long a server that is cut off keeps its clients
  duration expires_late{};                         ///< how much later than its timeout a session expires, at most

  // For each request:
  double lost_before = 0;  ///< the connection is lost when it arrives, before its effect
  double lost_after = 0;   ///< the connection is lost instead of the reply, after the effect
  double stuck = 0;        ///< it waits for a `sync` (ZOOKEEPER-4537)

  // At the loss of a connection:
  double late_write = 0.5;                                 ///< that requests on their way still reach the leader,
  duration latest_write = std::chrono::milliseconds{200};  ///< up to so much later
  double unannounced = 0;                                  ///< no `disconnected` before the next `connected`
  double refuse_sending = 0.5;  ///< `send` says no while disconnected; otherwise the request waits
  double unresolvable = 0;      ///< `open` fails

  // Now and then:
  duration reset_every{};  ///< a connection breaks
  duration hole_every{};   ///< nothing passes between a client and the ensemble,
  duration longest_hole{};
  duration cut_every{};  ///< a server is cut off from its quorum,
  duration longest_cut{};
  duration hold_back_every{};  ///< packets between a server and its leader are held back, one way,
  duration longest_hold_back{};
  duration stall_every{};        ///< the leader is stopped,
  duration longest_stall{};      ///< the whole of it,
  duration longest_late_ping{};  ///< or only the thread that sends its pings
  duration election_every{};     ///< the leader changes; nothing works meanwhile
  duration longest_election = std::chrono::seconds{1};
  duration pause_every{};  ///< a client process is stopped,
  duration longest_pause{};
  double stopped_at_clock = 0;  ///< or while it reads its clock, within a call: mostly for a moment
  duration reap_every{};        ///< containers without children go,
  bool reap_unused = false;     ///< also those that never had one
  duration operator_every{};    ///< an operator deletes a node of the playground, or a whole path of it
  duration longest_takeover = std::chrono::milliseconds{200};  ///< others who created a path again hold for so long
  duration foreign_every{};      ///< another program creates a node there that is no contender
  duration renegotiate_every{};  ///< a server begins to agree to other session timeouts; perhaps it restarts
  duration lose_every{};         ///< a server loses the transaction that will remove a node, and shows it for ever
  duration quota_every{};        ///< a path of it may have hardly more nodes than it has,
  duration longest_quota = std::chrono::milliseconds{500};
  duration oversize_every{};  ///< servers take no large requests (`jute.maxbuffer`)
  duration longest_oversize{};
  duration demand_every{};  ///< the servers begin to demand authentication, which ends each client that asks anything
  duration ask_every{};     ///< another program asks for a lock, as Curator's `Revoker` does

  /// Something of everything a lock has to stand, never more than the promises bear: no operator deletes nodes of
  /// others.
  /// @param timeout of the sessions.
  static fault_plan draw(random_source& random, duration timeout);

  /// @returns how long a request waits for its answer at most, while nothing is lost.
  /// @param timeout of the sessions: what is stuck is freed when it is an eighth of that old
  duration slowest_answer(duration timeout) const;

  /// The same weather, with nothing going wrong.
  fault_plan without_faults() const;
};

}  // namespace latchkey::testing
