// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A read-write lock across processes and machines.

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/lockable.hpp>

namespace latchkey {

namespace detail {
class shared_state;
}

/// How the callers of one `shared_mutex` share their places in the queue.
struct shared_mutex_options {
  /// How many writers of one object take turns on its entry once a remote contender is known to wait. At least 1.
  std::uint32_t turns = 16;
  /// How long further readers of one object may join the present ones once a remote contender is known to wait. A
  /// waiting writer is delayed by at most this long, beyond the readers that are in already.
  saturating<std::chrono::milliseconds> share_for{std::chrono::milliseconds{50}};
  /// How long an idle lock keeps its entry, to be acquired again without a request. It gives the entry up as soon as a
  /// remote contender waits. Zero: gives it up at once.
  saturating<std::chrono::milliseconds> linger{};
  /// As `mutex_options::group`.
  std::string group{};
  /// As `mutex_options::max_hold`, for each writer and each reader. A reader that was a writer is given the time anew. A
  /// place that readers share is given up when all of them have left it or held it for too long.
  saturating<std::chrono::milliseconds> max_hold{};
};

/// A read-write lock shared by all processes that open the same path: one writer alone, or readers together.
///
/// Meets SharedTimedLockable: `std::unique_lock`, `std::shared_lock` and `std::scoped_lock` are its guards, the last of one
/// lock only (see `detail::lockable`). Not recursive: a fiber that holds it in either mode and waits for it again gets
/// `resource_deadlock_would_occur`. Wire-compatible with Curator's `InterProcessReadWriteLock`.
///
/// Fairness: strict order of the queue, so neither readers nor writers starve. A reader waits for the nearest writer
/// ahead, a writer for every entry ahead. Readers of one object share an entry, and join without a request; writers of
/// one object take turns, as the callers of a `mutex`.
///
/// Modes: `downgrade()` turns a writer into a reader. There is no upgrade: of two readers that upgrade, each would wait
/// for the other. A read lock belongs to the fiber that took it; only that fiber unlocks it.
///
/// Tokens: a writer's is larger than those of all earlier owners. A reader's is larger than those of earlier writers
/// and smaller than those of later writers. Two readers may have theirs in any order.
///
/// Blocking, concurrency, lifetime and loss: as for `mutex`.
class LATCHKEY_EXPORT shared_mutex : public detail::lockable<shared_mutex>,
                                     public detail::shared_lockable<shared_mutex> {
 public:
  /// Makes no request. @throws error bad_path, bad_option
  shared_mutex(client& owner, given_text<std::string> path, shared_mutex_options options = {});
  ~shared_mutex();
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  /// Ends writing. Does not wait for the ensemble. Called by a fiber that does not write, or has a `guard`, it does
  /// nothing and logs an error.
  void unlock() noexcept;

  /// Ends reading. Does not wait for the ensemble. Called by a fiber that does not read, or has a `guard`, it does
  /// nothing and logs an error.
  void unlock_shared() noexcept;

  /// Turns a writer into a reader in one step: no writer comes in between, and the readers behind are admitted. Waits
  /// for the ensemble's answer. The writer's grant ends (released) when the step begins; with the answer
  /// `held_shared()` is the reader's grant, and `unlock_shared()` ends it. Of a request to release the writer's grant the
  /// reader's does not know. Tokens of the writer's grant tell nothing of the reader's: take new ones. A
  /// `std::unique_lock` would call `unlock()`: let go of it by `release()` first, and go on with a
  /// `std::shared_lock{lock, std::adopt_lock}`.
  /// @throws error lock_lost when the lock was lost first: the caller is still a writer, without a grant, and calls
  ///         `unlock()`; closed
  /// @throws std::system_error operation_not_permitted when this fiber is not the writer, or has a `guard`: see below
  void downgrade();

  /// As `downgrade()`, for a guard. Consumes it, also when it throws: then the writer has let go.
  /// @param writing a guard of this lock, as `acquire()` returns
  /// @returns the guard of the reader
  /// @throws error lock_lost, closed
  /// @throws std::system_error operation_not_permitted when `writing` does not hold this lock to write
  guard downgrade(guard writing);

  /// @returns the grant of the writer that holds the lock through this object; an empty one if none does.
  grant held() const;

  /// @returns the grant of the calling fiber if it reads; an empty one otherwise.
  grant held_shared() const;

  /// @returns the path of the lock.
  const std::string& path() const noexcept { return path_; }

 private:
  friend class detail::lockable<shared_mutex>;
  friend struct detail::asynchronous;
  friend class detail::shared_lockable<shared_mutex>;
  bool take(std::chrono::nanoseconds timeout, std::stop_token stop);
  guard take_guard(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::shared_ptr<detail::pending<guard>> begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop);
  bool take_shared(std::chrono::nanoseconds timeout, std::stop_token stop);
  guard take_shared_guard(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::shared_ptr<detail::pending<guard>> begin_shared_guard(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::string path_;
  std::shared_ptr<detail::shared_state> state_;
};

}  // namespace latchkey
