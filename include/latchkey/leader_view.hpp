// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who leads, for those who do not stand.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/export.hpp>
#include <latchkey/fencing_token.hpp>
#include <latchkey/given_text.hpp>

namespace latchkey {

namespace detail {
class leader_watch;
}

/// The leader of an election.
struct leader {
  /// `election_options::id`, or the id of Curator's participant; at most 4096 bytes. Empty if the leader had been asked
  /// to release the lock before the view saw it: the request is written over the id.
  std::string id;
  fencing_token term;  ///< the fencing token of its grant

  /// By id and term.
  friend bool operator==(const leader&, const leader&) = default;
};

/// What a `leader_view` knows.
struct leader_sighting {
  /// False: before the first answer, while there is no connection, and if the ensemble denies access.
  bool known = false;
  /// Nothing if it is known that no candidate stands, or if nothing is known.
  std::optional<leader> who{};

  /// By what is known.
  friend bool operator==(const leader_sighting&, const leader_sighting&) = default;
};

/// Follows an election of latchkey's `election`, or of Curator's `LeaderLatch` or `LeaderSelector`.
///
/// It is a hint, as old as what the server of this client has heard. The leader may have lost its term or resigned
/// already, or not have been told of its election yet. Have what a leader asks for checked by its term.
///
/// Cost: one watch on the node of the leader, and a list and a read when that goes. While no candidate stands it
/// watches the path, and creates it as a container if it is missing. The watch of a view that has gone stays until
/// something changes there, and a client has room for some 2000 of both: later ones look once in a session timeout.
///
/// Blocking: only the destructor, for a call of `changed` that is under way.
///
/// Concurrency: every member may be called from any thread and fiber.
///
/// Lifetime: may outlive the client; nothing is known then.
class LATCHKEY_EXPORT leader_view {
 public:
  /// Does not wait for the ensemble.
  /// @param changed is called with each new sighting, on the client's event thread, where it must neither throw nor
  /// suspend a fiber. An exception that it throws ends the process, after a log line. May be empty.
  /// @throws error bad_path; closed, authentication_failed, session_timeout_refused, data_lost of a client that has failed
  leader_view(client& through, given_text<std::string> path, std::function<void(const leader_sighting&)> changed = {});
  /// Afterwards `changed` is not called any more. `changed` may destroy the view that calls it.
  ~leader_view();
  leader_view(const leader_view&) = delete;
  leader_view& operator=(const leader_view&) = delete;

  /// @returns what is known now.
  leader_sighting now() const;

  /// @returns the path of the election.
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  std::shared_ptr<detail::leader_watch> watch_;
};

}  // namespace latchkey
