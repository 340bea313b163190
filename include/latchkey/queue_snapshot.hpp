// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who is in the queue of a lock, and asking them to leave.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <latchkey/client.hpp>

namespace latchkey {

/// One contender for a lock: ours, Curator's or kazoo's.
struct contender {
  /// What it queues for.
  enum class kind { lock, read, write };

  std::string node;      ///< the name of its node
  kind what{};           ///< what it queues for
  bool holds = false;    ///< its turn has come
  std::string label;     ///< `client_options::label`; empty for others than latchkey's, as host and pid
  std::string host;      ///< of its process
  std::int64_t pid = 0;  ///< of its process
  std::chrono::system_clock::time_point since;  ///< when it queued, by the clock of the ensemble
  std::int64_t session = 0;                     ///< of its client, at the ensemble
  std::string data;       ///< of the node: Curator puts an IP address there, kazoo what it was told to; at most 4 KiB
  bool data_cut = false;  ///< there is more: `data` is the beginning, and is not searched for label, host and pid
};

/// @returns "lock", "read" or "write".
std::string_view to_string(contender::kind kind) noexcept;

/// The queue of one lock path at one moment: holders first, then waiters, in their order. A value. It shows all that
/// was committed before it was asked for.
///
/// Cost: one sync, one list and one read per contender. At most 64 reads are under way at a time, fewer when the nodes
/// have much data, so that the locks of this client are not delayed.
class queue_snapshot {
 public:
  /// Reads the queue: suspends the fiber, or blocks the thread. A path that is not there is an empty queue.
  /// @param path of the lock
  /// @throws error bad_path, unreachable (not all answers in time), not_authorized, closed, ...
  queue_snapshot(client& through, std::string path, std::chrono::nanoseconds timeout = std::chrono::seconds{10});

  /// @returns all, holders first.
  std::span<const contender> contenders() const noexcept { return contenders_; }
  /// @returns those whose turn has come.
  std::span<const contender> holders() const noexcept { return contenders().first(holders_); }
  /// @returns the others, in the order of the queue.
  std::span<const contender> waiters() const noexcept { return contenders().subspan(holders_); }

  /// @returns the path of the lock.
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  std::vector<contender> contenders_;
  std::size_t holders_ = 0;
};

/// @returns one line for a log: who holds the lock, and how many wait.
std::string to_string(const queue_snapshot& queue);

/// Asks those who hold the lock now to release it, as Curator's `Revoker` does: `grant::asked_to_release()` of
/// latchkey's, the `RevocationListener` of Curator's. Nobody is forced. Overwrites the data of their nodes. Reads names
/// only, whatever data the nodes have.
/// @returns how many were asked. @throws error as `queue_snapshot`
std::size_t ask_to_release(client& through, const std::string& path,
                           std::chrono::nanoseconds timeout = std::chrono::seconds{10});

}  // namespace latchkey
