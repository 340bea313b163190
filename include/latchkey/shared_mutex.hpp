// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A read-write lock across processes and machines.

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/timed.hpp>

namespace latchkey {

namespace detail {
class shared_state;
}

/// How the callers of one `shared_mutex` share their places in the queue.
struct shared_mutex_options {
  /// How many writers of one object may have the lock in turn before it goes back to the end of the queue.
  std::uint32_t turns = 16;
  /// For how long further readers of one object may join those that are reading once somebody is known to wait for them
  /// to end. A waiting writer is delayed by so much at most, beside the time that readers take who are in already.
  std::chrono::milliseconds share_for{50};
  /// For how long the place in the queue is kept after the last unlock, to be had again without a request; it is given
  /// up as soon as somebody waits for it. Zero: given up at once.
  std::chrono::milliseconds linger{0};
};

/// A read-write lock across processes and machines: one writer alone, or readers together.
/// Fairness: strict order of the queue, so that neither readers nor writers starve; a reader waits for the nearest
/// writer ahead, a writer for all ahead. The readers of one object share one place, without a request for those that
/// join; the writers of one object take turns, as the callers of a `mutex`. Meets SharedTimedLockable:
/// `std::shared_lock`, `std::unique_lock`, `std::scoped_lock` are its guards. Compatible with Curator's
/// `InterProcessReadWriteLock`. Not recursive: a fiber that has it, in whatever mode, and waits for it again gets
/// `resource_deadlock_would_occur`. There is no upgrade from reading to writing: of two readers that upgrade, each
/// would wait for the other. Downgrade is there. Tokens: of a writer as of a mutex, larger than those of all owners
/// before it. The token of a reader is larger than those of the writers before it and smaller than those of the writers
/// after it; two readers may be in any order. Waiting, concurrency, lifetime and loss: as `mutex`. Shared ownership
/// belongs to the fiber that locked, which unlocks it.
class shared_mutex : public detail::timed<shared_mutex>, public detail::timed_shared<shared_mutex> {
 public:
  /// Makes no request. @throws error bad_path, bad_option
  shared_mutex(client& owner, std::string path, shared_mutex_options options = {});
  ~shared_mutex();
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  // To write ----------

  /// Waits until nobody reads or writes. @throws as `mutex::lock`
  void lock();
  /// As `lock()`, until `stop` is requested. @returns whether the lock was taken.
  [[nodiscard]] bool lock(std::stop_token stop);
  /// Takes the lock if nobody reads or writes: one read when somebody does.
  [[nodiscard]] bool try_lock();
  /// Does not wait for the ensemble. @pre locked to write; otherwise nothing happens.
  void unlock() noexcept;

  // To read ----------

  /// Waits until nobody ahead writes. @throws as `mutex::lock`
  void lock_shared();
  /// As `lock_shared()`, until `stop` is requested. @returns whether the lock was taken.
  [[nodiscard]] bool lock_shared(std::stop_token stop);
  /// Takes the lock if nobody writes or waits to write: one read when somebody does.
  [[nodiscard]] bool try_lock_shared();
  /// Does not wait for the ensemble. @pre this fiber has locked it to read; otherwise nothing happens, and that is
  /// logged.
  void unlock_shared() noexcept;

  /// From writing to reading in one step: no writer comes in between, the readers behind are let in. Waits for the
  /// ensemble's answer. The grant of the writer ends (released) when the step begins; with the answer `held_shared()`
  /// is that of the reader, and `unlock_shared()` ends it.
  /// @throws error lock_lost when the lock was lost before that was done: the caller is still a writer, without a grant,
  ///         and calls `unlock()`; closed
  /// @throws std::system_error operation_not_permitted when this fiber has not locked it to write
  void downgrade();

  /// @returns the grant of the writer that has the lock now; an empty one when no writer of this object has it.
  grant held() const;
  /// @returns the grant of the calling fiber, when it reads; otherwise an empty one.
  grant held_shared() const;

  /// @returns the path of the lock.
  const std::string& path() const noexcept { return path_; }

 private:
  friend class detail::timed<shared_mutex>;
  friend class detail::timed_shared<shared_mutex>;
  bool try_lock_within(std::chrono::nanoseconds timeout, std::stop_token stop);
  bool try_lock_shared_within(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::string path_;
  std::shared_ptr<detail::shared_state> cohort_;
};

}  // namespace latchkey
