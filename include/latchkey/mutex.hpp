// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A mutex across processes and machines.

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/timed.hpp>

namespace latchkey {

namespace detail {
class cohort;
}

/// How the callers of one `mutex` or `reentrant_mutex` share their place in the queue.
struct mutex_options {
  /// How many callers of one object may have the lock in turn before it goes back to the end of the queue.
  std::uint32_t turns = 16;
  /// For how long the place in the queue is kept after the last unlock, to be had again without a request; it is given
  /// up as soon as somebody waits for it. Zero: given up with the unlock.
  std::chrono::milliseconds linger{0};
};

/// A mutex across processes and machines: whoever names the same path of the same ensemble contends for it.
/// Fairness: the places in the queue are first come, first served; the callers of one object share a place, in turns,
/// and give it up after `mutex_options::turns`. Meets Lockable and TimedLockable: std's guards are its guards. Not
/// recursive. Compatible with Curator's `InterProcessMutex`. Suspends the fiber that waits; a plain thread is blocked.
/// Concurrency: every member from any thread and fiber. Lifetime: may outlive the client; when it is destroyed it must
/// have no waiters, and what it still holds is released. Loss: `held()` tells; after a loss `unlock()` does nothing on
/// the ensemble, and the next `lock()` works. Until that `unlock()`, no other caller of this object is let in.
class mutex : public detail::timed<mutex> {
 public:
  /// Makes no request. @throws error bad_path, bad_option
  mutex(client& owner, std::string path, mutex_options options = {});
  ~mutex();
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// Waits for the lock, through outages and lost sessions.
  /// @throws error closed, not_authorized, authentication_failed, parent_is_ephemeral, queue_exhausted, ...
  /// @throws std::system_error resource_deadlock_would_occur when this fiber (or thread) has it already
  void lock();

  /// As `lock()`, until `stop` is requested. @returns whether the lock was taken.
  [[nodiscard]] bool lock(std::stop_token stop);

  /// Takes the lock if nobody has it. Waits for the ensemble's answer, not for the lock: one read when it is held.
  [[nodiscard]] bool try_lock();

  /// Releases the lock. Does not wait for the ensemble: the deletion is sent, and repeated until it is done. Where more
  /// than eight of one client are under way, it goes together with others, a round trip later as a rule. Where the
  /// callers of this object have come back within 50 us, twice in a row, it waits so long for the next one, to go with
  /// his creation: one transaction for both; a process that ends within that time leaves it to the end of its session.
  /// @pre this object was locked; otherwise nothing happens.
  void unlock() noexcept;

  /// @returns the grant of the caller that has the lock now; an empty one when nobody of this process has it.
  grant held() const;

  /// @returns the path of the lock.
  const std::string& path() const noexcept { return path_; }

 private:
  friend class detail::timed<mutex>;
  bool try_lock_within(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::string path_;
  std::shared_ptr<detail::cohort> cohort_;
};

}  // namespace latchkey
