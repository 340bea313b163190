// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A mutex that tells its next owner if the last one did not unlock it.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/fencing_token.hpp>
#include <latchkey/given_text.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/lockable.hpp>

namespace latchkey {

namespace detail {
class robust_line;
}

/// An owner of a `robust_mutex` that went without unlocking it: its process died, it was cut off from the ensemble, it held
/// for too long, its node was deleted, or its lock object was destroyed.
struct dead_owner {
  /// Of the first of its turns: what it wrote under the lock has this token, or a larger one with the same `czxid`. Zero if
  /// the record of the owner cannot be read; then label and host are empty, too.
  fencing_token fence{};
  std::string label{};                            ///< `client_options::label`, or the name of its program
  std::string host{};                             ///< of its process
  std::int64_t pid = 0;                           ///< of its process
  std::int64_t session = 0;                       ///< the id of its session
  std::chrono::system_clock::time_point since{};  ///< when its entry was let in, by the clock of its machine
  /// `loss_reason::held_too_long` if it lived on and held for longer than `max_hold`; nothing if that is not known.
  std::optional<loss_reason> why{};

  /// Whether all members are equal.
  bool operator==(const dead_owner&) const = default;
};

/// How the callers of one `robust_mutex` share their place in the queue, and what becomes of the lock after their death.
struct robust_mutex_options {
  /// As `mutex_options::turns`.
  std::uint32_t turns = 16;
  /// As `mutex_options::group`.
  std::string group{};
  /// As `mutex_options::max_hold`. The next owner is told, with `dead_owner::why`.
  saturating<std::chrono::milliseconds> max_hold{};
  /// If an owner of this object goes without unlocking: how long the lock is then kept from the next `robust_mutex`, so
  /// that requests which the dead owner had sent to other servers have arrived, or are gone. At most one minute. The time
  /// runs from when the next in the queue learns of the death. A client with the same `client_options::label` on the same
  /// host does not wait: it is taken for the next run of the dead one. Calls that end before the delay is over do not get the
  /// lock, and other objects begin it anew: so wait for longer than it lasts. A delay is a guess, which a fencing token is not:
  /// see `fence_gate`. (Chubby's lock delay: M. Burrows, OSDI 2006, section 2.4.)
  saturating<std::chrono::milliseconds> lock_delay{};
};

/// A `mutex` whose next owner is told if the last one did not unlock it: POSIX' robust mutex (`EOWNERDEAD`) across machines.
///
/// What the lock protects may then be half changed. Put it in order, call `recovered()`, and go on. Until that is done, every
/// later owner is told, too; the lock is never unusable.
///
/// Shares its queue with `mutex`, `fair_mutex`, `multi_lock` and Curator's `InterProcessMutex`, which exclude those of this
/// class, and whose deaths are not told. Keeps a node, `<path>/robust-owner`, while it is held and after a death. That node says
/// who it was; to delete it by hand is to say that all is in order.
///
/// Fairness, blocking, concurrency, lifetime: as for `mutex`. A place in the queue costs one write more than that of a `mutex`,
/// and one round trip, but for a caller who comes back at once; turns and the unlock cost nothing more.
/// `transaction::commit_and_release()` does not release it.
///
/// Loss: as for `mutex`. Who loses the lock while holding it is a dead owner for the next one. So is who closes the client
/// or destroys the lock object while holding it. An unlock whose transaction has not reached the ensemble when the session
/// ends, as in an outage, is not known there, and is told as a death, too; and so may be a call whose session ends in the last
/// round trip before it would have had the lock, and a lock object whose place is lost between two of its callers.
///
/// A whole program:
/// @include after_a_death.cpp
class LATCHKEY_EXPORT robust_mutex : public detail::lockable<robust_mutex> {
 public:
  /// Makes no request. @throws error bad_path, bad_option
  robust_mutex(client& owner, given_text<std::string> path, robust_mutex_options options = {});
  ~robust_mutex();
  robust_mutex(const robust_mutex&) = delete;
  robust_mutex& operator=(const robust_mutex&) = delete;

  /// Releases the lock, and records that in the same transaction. Does not wait for the ensemble; see `mutex::unlock`, also
  /// for who may call it.
  void unlock() noexcept;

  /// @returns who held the lock before and did not unlock it; nothing if all is in order, or if no caller of this object has
  /// the lock. Does not block.
  std::optional<dead_owner> abandoned() const;

  /// What the lock protects is in order: later owners are not told any more, once the lock has been unlocked. Does nothing
  /// if no caller of this object has the lock. Makes no request.
  void recovered() noexcept;

  /// What the lock protects is not in order: the next owner is told of this one as of a dead one, once the lock has been
  /// unlocked. For work that has failed half-way, as in the handler of an exception. `recovered()` takes it back. Does
  /// nothing if no caller of this object has the lock. Makes no request. (The word is that of Rust's mutexes.)
  void poison() noexcept;

  /// @returns the grant of the caller that holds the lock through this object; an empty one if none does.
  grant held() const;

  /// @returns the path of the lock.
  const std::string& path() const noexcept { return path_; }

 private:
  friend class detail::lockable<robust_mutex>;
  friend struct detail::asynchronous;
  bool take(std::chrono::nanoseconds timeout, std::stop_token stop);
  guard take_guard(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::shared_ptr<detail::pending<guard>> begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::string path_;
  std::shared_ptr<detail::robust_line> line_;
};

/// Who has gone without unlocking the robust mutexes at a path, as a service or an operator sees it who does not take the lock.
///
/// Costs a transaction without a change and a read, in one round trip; if there is a record, two round trips more, and again if
/// the lock has passed on meanwhile. Suspends the calling fiber, or blocks a plain thread, at most `timeout`, or 200 ms if
/// that is not positive.
/// @param path of the lock
/// @returns the owner of whom the next one would be told, or of whom the present one was told; nothing if all was in order
///          when it had the lock.
/// @throws error as `queue_snapshot`; not_authorized also if the record may not be read
LATCHKEY_EXPORT std::optional<dead_owner> abandoned_at(
    client& through, const std::string& path, saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10});

}  // namespace latchkey
