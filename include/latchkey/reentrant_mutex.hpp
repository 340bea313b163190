// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A mutex across processes and machines that its owner may take again.

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/timed.hpp>

namespace latchkey {

namespace detail {
class reentrance;
}

/// A `mutex` that counts: the fiber (in a plain thread: the thread) that has it takes it again at once, without a
/// request, under the same grant, and has it until it has unlocked as often. The owner is the fiber, also after it has
/// moved to another thread. Meets Lockable and TimedLockable. Compatible with Curator's `InterProcessMutex`, which is
/// reentrant as well. Fairness, concurrency and lifetime: as `mutex`. Loss: taking it again after a loss throws
/// `errc::lock_lost` instead of pretending; the owner unlocks as often as it has locked, and then the next `lock()`
/// works.
class reentrant_mutex : public detail::timed<reentrant_mutex> {
 public:
  /// Makes no request. @throws error bad_path, bad_option
  reentrant_mutex(client& owner, std::string path, mutex_options options = {});
  ~reentrant_mutex();
  reentrant_mutex(const reentrant_mutex&) = delete;
  reentrant_mutex& operator=(const reentrant_mutex&) = delete;

  /// Takes the lock, once more if this fiber has it; otherwise waits for it, through outages and lost sessions.
  /// @throws error lock_lost when this fiber has locked it and the grant is gone; closed, not_authorized, ... as
  /// `mutex::lock`
  void lock();

  /// As `lock()`, until `stop` is requested. @returns whether the lock was taken.
  [[nodiscard]] bool lock(std::stop_token stop);

  /// Takes the lock if this fiber has it, or nobody. @throws error as `lock()`
  [[nodiscard]] bool try_lock();

  /// Takes back one `lock()`; the last one releases the lock, and does not wait for the ensemble.
  /// A fiber that has not locked it does nothing; the misuse is logged as an error.
  void unlock() noexcept;

  /// As `unlock()`. @throws std::system_error operation_not_permitted when this fiber has not locked it
  void unlock_checked();

  /// @returns how often the calling fiber has locked it and not unlocked it yet.
  std::size_t depth() const noexcept;

  /// @returns the grant of the fiber that has the lock now; an empty one when nobody of this process has it.
  grant held() const;

  /// @returns the path of the lock.
  const std::string& path() const noexcept { return path_; }

 private:
  friend class detail::timed<reentrant_mutex>;
  bool try_lock_within(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::string path_;
  std::unique_ptr<detail::reentrance> state_;
};

}  // namespace latchkey
