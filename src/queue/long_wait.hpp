// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Finds out what has kept calls from a lock for long.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "queue/rule.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// Calls that have not got a lock for long: some wait, or all have ended without it.
struct long_wait {
  duration lasted{};  ///< the least time that the first one has waited, or since the first one was made that ended so
  std::size_t calls = 0;            ///< that wait; none: they have ended without the lock
  std::function<bool()> goes_on{};  ///< whether the first of these calls still waits, or has ended without the lock

  /// @returns how a log line about it begins: it goes on with " for a lock that ...".
  std::string_view words() const noexcept;
};

/// A queue in which a call waits, or has found another contender ahead.
struct lock_queue {
  std::string lock;  ///< the path as the user calls it
  std::string path;  ///< of the queue, below the chroot
  const rule* kind;  ///< what the call queues as
  /// So many contenders at its head keep the call from the lock. None: those of other queues do, too.
  std::size_t holders = 1;
};

/// Logs who holds the lock: the first contender in its queue for which the call has to wait. With a warning if it is
/// this process itself, and if there are several holders, if all are of this client; otherwise at level info if calls
/// wait, and not at all if they have ended. Reads the list, has the leader check that node, and reads it. Says nothing if
/// there is no connection, or if the lock is not held any more. Calls that nothing keeps from the lock look again.
///
/// A server that has lost a transaction (HAZARDS S19) may show a deleted node, and never report its deletion. Such a
/// node is disregarded until the session ends.
void look_into_long_wait(client_core& core, lock_queue where, const long_wait& what);

}  // namespace latchkey::detail
