// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Finding the locks below a path.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>

namespace latchkey {

/// A path with contenders, as its list showed it.
struct found_lock {
  std::string path;            ///< below the chroot, as locks and `queue_snapshot` take it
  std::size_t contenders = 0;  ///< holders and waiters, at least one; of a semaphore: permits and waiters
  bool semaphore = false;      ///< whether they are in the folders of a semaphore

  /// By all members.
  friend bool operator==(const found_lock&, const found_lock&) = default;
};

/// Where `find_locks` stops.
struct find_options {
  std::size_t most_nodes = 100'000;  ///< how many nodes it lists; with more it throws
  std::size_t deepest = 16;  ///< how many levels below `root` it lists; those below are left out. A semaphore is two
  /// Called with each path whose list is denied, on the calling thread; what is below is left out. Empty: it throws.
  std::function<void(const std::string& path)> on_denied{};
};

/// Lists the tree below `root`, and says which of its paths are locks: those with a child that is named as a contender's
/// node is, of latchkey, Curator or kazoo. A permanent node with such a name counts, too.
///
/// It is no snapshot: each path is shown as it was when it was listed, after the call began. Children whose names make no
/// valid path are left out, and so is `/zookeeper`.
///
/// Cost: one transaction without a change, and one list for each node below `root` that is no contender; at most 64 are
/// under way at a time.
/// Suspends the calling fiber, or blocks a plain thread, at most `timeout`, or 200 ms if that is not positive.
/// @param root a path below the chroot; "/" for all. One that does not exist has no locks.
/// @returns the paths that have contenders, sorted as text; `root` may be one of them.
/// @throws error bad_path; too_large (more than `most_nodes`); unreachable (not all answers arrived in time),
///         not_authorized (a list is denied, and there is no `find_options::on_denied`), refused, closed,
///         authentication_failed, session_timeout_refused, data_lost
LATCHKEY_EXPORT std::vector<found_lock> find_locks(client& through, const std::string& root, find_options limits = {},
                                                   saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{
                                                       30});

}  // namespace latchkey
