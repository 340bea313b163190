// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The queue of a lock as it changes.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>
#include <latchkey/queue_snapshot.hpp>

namespace latchkey {

namespace detail {
class queue_watch;
}

/// One contender, by its name alone.
struct queue_place {
  std::string node;        ///< the name of its node
  contender::kind what{};  ///< the mode it queues for
  bool holds = false;      ///< whether its turn has come

  /// By all members.
  friend bool operator==(const queue_place&, const queue_place&) = default;
};

/// What a `queue_view` knows.
struct queue_sighting {
  /// False: before the first answer, while there is no connection, and if the ensemble denies access.
  bool known = false;
  std::vector<queue_place> places{};  ///< in the order of the queue; none if nothing is known

  /// By what is known.
  friend bool operator==(const queue_sighting&, const queue_sighting&) = default;
};

/// Follows the queue of a lock, for operators' tools. A caller that waits for a lock does not need it.
///
/// It is a hint, as old as what the server of this client has heard. Changes that follow each other at once may be seen as
/// one. The permits of a semaphore are seen at `path/leases`, and those who wait for them at `path/locks`.
///
/// Cost: one watch on the children of the path, and one list after each change: with many views of a busy lock, that is a
/// herd. It reads no node. A path that is missing is created as a container. The watch of a view that has gone stays until
/// something changes there, and a client has room for some 2000 of both: later ones look once in a session timeout.
///
/// Blocking: only the destructor, for a call of `changed` that is under way.
///
/// Concurrency: every member may be called from any thread and fiber.
///
/// Lifetime: may outlive the client; nothing is known then.
class LATCHKEY_EXPORT queue_view {
 public:
  /// Does not wait for the ensemble.
  /// @param changed is called with each new sighting, on the client's event thread, where it must neither throw nor
  /// suspend a fiber. An exception that it throws ends the process, after a log line. May be empty.
  /// @throws error bad_path; closed, authentication_failed, session_timeout_refused, data_lost of a client that has failed
  queue_view(client& through, given_text<std::string> path, std::function<void(const queue_sighting&)> changed = {});
  /// Afterwards `changed` is not called any more. `changed` may destroy the view that calls it.
  ~queue_view();
  queue_view(const queue_view&) = delete;
  queue_view& operator=(const queue_view&) = delete;

  /// @returns what is known now.
  queue_sighting now() const;

  /// @returns the path of the lock.
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  std::shared_ptr<detail::queue_watch> watch_;
};

}  // namespace latchkey
