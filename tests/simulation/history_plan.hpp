// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a seed decides about a history before anything happens.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulation/fake_network.hpp"
#include "simulation/fault_plan.hpp"
#include "simulation/simulated_lock.hpp"

namespace latchkey::testing {

/// One lock path: each client has an object of its own on it, or two.
struct lock_plan {
  lock_settings settings;
  bool mixed = false;     ///< some objects are fair, some take turns: on one path they are of one kind
  double robust = 0;      ///< how many of those that are to take turns are robust
  double readers = 0;     ///< of shared ones: how many calls are to read
  double downgrades = 0;  ///< how many writers become readers
};

struct history_plan {
  std::uint64_t seed = 0;
  duration timeout{};  ///< of the sessions
  unsigned clients = 0;
  std::vector<lock_plan> locks;
  double groups = 0;     ///< how many objects take several locks together, or one of several
  unsigned objects = 0;  ///< of a client on a lock
  unsigned callers = 0;  ///< of each lock object
  unsigned calls = 0;    ///< of each caller
  duration longest_hold{};
  duration longest_thought{};  ///< between two calls
  duration faults{};           ///< for how long things go wrong; then all must come right
  /// By when a holder must know of somebody outside who waits: the worst of delays, outages and what a grant survives.
  duration noticed_after{};
  duration long_wait = std::chrono::seconds{30};  ///< `client_options::report_waits_after`
  /// That right after a grant the server of its client is cut off from the quorum: the moment when least is known to
  /// the leader about the session (src/session/liveness.hpp).
  double hunted = 0;
  bool tells_tick = false;        ///< `client_options::server_tick`
  double at_once = 0;             ///< how many callers come back right after they have unlocked
  double impatient = 0;           ///< how many calls are cancelled
  double kept = 0;                ///< how many calls of a fair lock take a place first, and wait for it later
  double commits = 0;             ///< how many grants write to the data of the lock; how many release along with that
  std::size_t gather_beyond = 0;  ///< from so many deletions under way on they go together
  bool operators = false;
  double ambushed = 0;  ///< how many grants an operator waits for
  bool a_client_closes = false;
  bool a_client_dies = false;  ///< and its process is started again, with its session file
  fault_plan weather;
  double careless = 0;  ///< how many clients have a user who repeats, without waiting, what can be repeated
  double awaited = 0;   ///< how many callers are coroutines, some of which are destroyed while they wait
  double direct = 0;    ///< how many clients have a port, and how many of their lock objects hand off directly
  datagram_plan datagrams;

  static history_plan draw(std::uint64_t seed);

  unsigned callers_in_all() const noexcept { return clients * static_cast<unsigned>(locks.size()) * objects * callers; }
};

}  // namespace latchkey::testing
