// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Reading the queue of a lock, asking its holders to release it, and deleting a contender's node by force.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>

namespace latchkey {

/// One contender for a lock, of latchkey, Curator or kazoo.
struct contender {
  /// The mode it queues for.
  enum class kind { lock, read, write, permit };

  std::string node;      ///< the name of its node; of a semaphore with its folder, as `leases/...` or `locks/...`
  kind what{};           ///< the mode it queues for
  bool holds = false;    ///< whether its turn has come
  std::string label;     ///< `client_options::label`; label, host and pid are known of latchkey's contenders only
  std::string host;      ///< of its process
  std::int64_t pid = 0;  ///< of its process
  std::chrono::system_clock::time_point since;  ///< when its node was created, by the clock of the leader
  std::int64_t session = 0;                     ///< the id of its session; zero: see `permanent()`
  std::string data;       ///< of the node, at most 4 KiB: from Curator an IP address, from kazoo its identifier
  bool data_cut = false;  ///< whether `data` is only the beginning; it is not searched for label, host and pid then

  /// @returns whether the node is not ephemeral. No session ends it, so it keeps its place until it is deleted, as by
  /// `evict`. Another program made it: latchkey, Curator and kazoo create ephemeral nodes only.
  bool permanent() const noexcept { return session == 0; }
};

/// @returns "lock", "read", "write" or "permit".
LATCHKEY_EXPORT std::string_view to_string(contender::kind kind) noexcept;

/// The queue of one lock path at one moment, a value: holders first, then waiters, in the order of the queue. It shows
/// every change that was committed before the call. For a semaphore: one holder for each permit, then the waiters; a
/// caller that waits for several permits holds those whose turn has come, and is asked to release them as any holder.
///
/// Cost: one transaction without a change, one list, and one read per contender; two lists and one read more at the path
/// of a semaphore. At most 64 reads are under way at a time, fewer when the nodes have much data, so that the locks of
/// this client are not delayed.
///
/// Blocking: only the constructor; it suspends the calling fiber, or blocks a plain thread.
class LATCHKEY_EXPORT queue_snapshot {
 public:
  /// Reads the queue within `timeout`, or 200 ms if that is not positive. A path that does not exist is an empty queue.
  /// @param path of the lock
  /// @throws error bad_path, unreachable (not all answers arrived in time), not_authorized, refused, closed,
  ///         authentication_failed, session_timeout_refused, data_lost
  queue_snapshot(client& through, given_text<std::string> path,
                 saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10});

  /// As above, but reads only the first contenders of a long queue. The others are counted, by their names.
  /// @param most how many contenders are read
  queue_snapshot(client& through, given_text<std::string> path, saturating<std::chrono::nanoseconds> timeout,
                 std::size_t most);

  /// A copy.
  queue_snapshot(const queue_snapshot&) = default;
  /// A copy.
  queue_snapshot& operator=(const queue_snapshot&) = default;
  /// `other` is an empty queue afterwards.
  queue_snapshot(queue_snapshot&& other) noexcept : path_{other.path_}, seen_{std::exchange(other.seen_, {})} {}
  /// `other` is an empty queue afterwards.
  queue_snapshot& operator=(queue_snapshot&& other) noexcept {
    path_ = other.path_;
    seen_ = std::exchange(other.seen_, {});
    return *this;
  }
  ~queue_snapshot() = default;

  /// @returns all contenders that were read, holders first.
  std::span<const contender> contenders() const& noexcept { return seen_.contenders; }

  /// @returns the contenders whose turn has come, of those that were read.
  std::span<const contender> holders() const& noexcept { return contenders().first(seen_.holders); }

  /// @returns the other contenders that were read, in the order of the queue.
  std::span<const contender> waiters() const& noexcept { return contenders().subspan(seen_.holders); }

  /// @returns them, of a temporary: they outlive it, as in `for (const auto& each : queue_snapshot{...}.contenders())`.
  std::vector<contender> contenders() && { return std::exchange(seen_, {}).contenders; }
  /// @returns them, as `contenders()` of a temporary does.
  std::vector<contender> holders() && { return copy_of(holders()); }
  /// @returns them, as `contenders()` of a temporary does.
  std::vector<contender> waiters() && { return copy_of(waiters()); }

  /// @returns how many contenders hold the lock, with those that were not read.
  std::size_t holder_count() const noexcept { return seen_.holders + seen_.unread_holders; }

  /// @returns how many contenders wait, with those that were not read.
  std::size_t waiter_count() const noexcept { return seen_.contenders.size() - seen_.holders + seen_.unread_waiters; }

  /// @returns the path of the lock.
  const std::string& path() const& noexcept { return path_; }
  /// @returns the path of the lock.
  std::string path() && { return std::move(path_); }

 private:
  static std::vector<contender> copy_of(std::span<const contender> some) { return {some.begin(), some.end()}; }

  struct sight {
    std::vector<contender> contenders;
    std::size_t holders = 0;
    std::size_t unread_holders = 0;
    std::size_t unread_waiters = 0;
  };
  std::string path_;
  sight seen_;
};

/// @returns one line for a log: the holder of the lock, and the number of waiters. What nodes say is escaped. A node that
/// is permanent is called "foreign, permanent".
LATCHKEY_EXPORT std::string to_string(const queue_snapshot& queue);

/// Asks the present holders of a lock to release it, as Curator's `Revoker` does. A holder learns of it from
/// `grant::asked_to_release()`, or in Curator from its `RevocationListener`, and need not comply.
///
/// Overwrites the data of the holders' nodes, without reading it. Suspends the calling fiber, or blocks a plain thread,
/// at most `timeout`, or 200 ms if that is not positive.
/// @returns the number of holders that were asked. @throws error as `queue_snapshot`
LATCHKEY_EXPORT std::size_t ask_to_release(client& through, const std::string& path,
                                           saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10});

/// Deletes the node of one contender of any client: for a holder that does not let go. Prefer `ask_to_release`, or
/// ending the process of the holder.
///
/// Exclusion: the next contender may be granted the lock as soon as the node is gone. The owner, if it runs latchkey and
/// is alive, loses its grant about a round trip later (see "Force ends a lease early" in the README). Until then two
/// holders may believe that they have the lock. A holder of Curator or kazoo is not told at all.
///
/// A waiter that is evicted queues again, at the end; a `ticket` loses its place. With `hand_off::direct` it may be
/// granted the lock before it learns of that. Suspends the calling fiber, or blocks
/// a plain thread, at most `timeout`, or 200 ms if that is not positive.
/// @param path of the lock
/// @param node the name of the contender's node, as `contender::node`
/// @returns whether there was such a node; there is none when the call returns.
/// @throws error bad_path (also if `node` is not the name of a contender), and as `queue_snapshot`
LATCHKEY_EXPORT bool evict(client& through, const std::string& path, const std::string& node,
                           saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10});

}  // namespace latchkey
