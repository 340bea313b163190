// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a client has done, in numbers.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/export.hpp>
#include <latchkey/grant.hpp>

namespace latchkey {

/// A histogram of durations, in buckets of powers of two.
struct duration_histogram {
  /// Bucket `i` counts those of less than 2^i us that no smaller bucket counts; the last one also all longer ones.
  std::array<std::uint64_t, 36> buckets{};
  std::uint64_t count = 0;         ///< of all buckets together
  std::chrono::nanoseconds sum{};  ///< of all durations

  /// @param q from 0 to 1
  /// @returns an upper bound of the quantile, at most twice as large; zero if the histogram is empty, and
  /// `nanoseconds::max()` in the last bucket, which has no bound.
  LATCHKEY_EXPORT std::chrono::nanoseconds quantile(double q) const noexcept;
};

/// The numbers of the locks of one group: see `mutex_options::group`. Each grant is counted once in `granted` and, when it
/// ends, once in `released` or `lost`.
struct lock_metrics {
  std::string group{};  ///< its name

  std::uint64_t granted = 0;            ///< grants: readers' and writers', and of readers who were writers
  std::uint64_t granted_at_once = 0;    ///< of them, those with a new entry and no contender ahead
  std::uint64_t turns = 0;              ///< of them, those on the entry of an earlier caller of the same object
  std::uint64_t lingered = 0;           ///< of them, those on an entry that had been kept for that
  std::uint64_t released = 0;           ///< grants that were unlocked
  std::array<std::uint64_t, 7> lost{};  ///< grants that were lost, by `loss_reason`

  std::uint64_t refused = 0;    ///< tries that did not find the lock free
  std::uint64_t timed_out = 0;  ///< calls whose time was over
  std::uint64_t cancelled = 0;  ///< calls that a stop token ended while they waited
  std::uint64_t failed = 0;     ///< calls that threw while they waited

  std::uint64_t asked_to_release = 0;  ///< grants whose holder was asked to release the lock
  std::uint64_t abandoned = 0;         ///< grants that were told of an owner who had not unlocked: see `robust_mutex`

  std::uint64_t waiting = 0;  ///< calls that wait now, those of `fair_mutex::enqueue()` included
  std::uint64_t held = 0;     ///< grants that are held now

  duration_histogram wait;  ///< of the calls that were granted the lock
  duration_histogram hold;  ///< of the grants that have ended
};

/// The numbers of direct hand-off, of all locks of a client together: see `client_options::peers`.
struct peer_metrics {
  std::uint64_t admitted = 0;  ///< contenders admitted by a datagram from the holder ahead, not by the ensemble

  std::uint64_t subscriptions = 0;  ///< to entries of other clients; repetitions are not counted
  std::uint64_t acknowledged = 0;   ///< of them, those that were answered
  std::uint64_t given_up = 0;       ///< times that an address did not answer, or no longer did

  // Datagrams without effect. Late and repeated ones count as unknown or stale: a few are normal.
  std::uint64_t malformed = 0;  ///< not a valid message
  std::uint64_t unknown = 0;    ///< answers to an entry that has no subscription, or no longer
  std::uint64_t bad_tag = 0;    ///< not made with the key of the entry
  std::uint64_t stale = 0;      ///< of an earlier subscription, or of a subscriber that has left
};

/// The numbers of a client since it was made.
struct client_metrics {
  std::uint64_t connections = 0;     ///< to a server; reconnections included
  std::uint64_t disconnections = 0;  ///< losses of them
  std::uint64_t sessions = 0;        ///< that were begun
  std::uint64_t expirations = 0;     ///< sessions that the ensemble has ended

  std::uint64_t reads = 0;         ///< requests that the server of the connection answered
  std::uint64_t writes = 0;        ///< single creates and deletes
  std::uint64_t transactions = 0;  ///< writes of several nodes, and proofs
  std::uint64_t syncs = 0;         ///< that keep the lease ready
  std::uint64_t watches = 0;       ///< of the reads, those that set one
  std::uint64_t nudges = 0;        ///< syncs that were to free a stuck request (see ZOOKEEPER-4537)

  std::uint64_t proofs = 0;    ///< of the lease, that were answered
  std::uint64_t suspects = 0;  ///< times that a proof was overdue

  std::uint64_t unanswered = 0;      ///< requests that are not answered now
  std::uint64_t deletions_owed = 0;  ///< nodes of this client that are still to be deleted now

  duration_histogram request;  ///< from sent to answered, of all requests
  duration_histogram proof;    ///< of the proofs alone
  /// The least that was left of the lease when an answer extended it while a lock was held: how near the ensemble came to
  /// costing one. Covers the last minute, and up to one more; nothing if there was no such answer.
  std::optional<std::chrono::nanoseconds> least_left;

  std::vector<lock_metrics> locks;    ///< by group
  std::optional<peer_metrics> peers;  ///< of direct hand-off; nothing without `client_options::peers`
};

/// @returns the numbers in Prometheus' text format, version 0.0.4. Counters end in `_total`, durations are in seconds.
/// @param prefix of the names: letters, digits, underscores and colons, not beginning with a digit
/// @throws error bad_option for any other prefix
LATCHKEY_EXPORT std::string to_prometheus(const client_metrics& what, std::string_view prefix = "latchkey");

}  // namespace latchkey
