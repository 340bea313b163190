// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A mutex across processes and machines that its owner may take again.

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/lockable.hpp>
#include <latchkey/mutex.hpp>

namespace latchkey {

namespace detail {
class reentrance;
}

/// A `mutex` that its owner may lock again.
///
/// The owner is the fiber that holds the lock, on whatever thread it runs; in a plain thread it is the thread. It locks
/// again at once, without a request, under the same grant, and holds the lock until it has unlocked it as often as it
/// has locked it. A guard that has been moved belongs to no fiber: once no other level is left, the lock has no owner, and
/// the fiber that took it waits as any other.
/// Meets Lockable and TimedLockable. Wire-compatible with Curator's `InterProcessMutex`, which is reentrant too.
///
/// Loss: locking again after a loss throws `errc::lock_lost`. The owner unlocks as often as it has locked; then the
/// next `lock()` works.
///
/// Fairness, blocking, concurrency and lifetime: as for `mutex`.
class LATCHKEY_EXPORT reentrant_mutex : public detail::lockable<reentrant_mutex> {
 public:
  /// Makes no request. @throws error bad_path, bad_option
  reentrant_mutex(client& owner, given_text<std::string> path, mutex_options options = {});
  ~reentrant_mutex();
  reentrant_mutex(const reentrant_mutex&) = delete;
  reentrant_mutex& operator=(const reentrant_mutex&) = delete;

  /// Takes back one `lock()`; the last one releases the lock. Does not wait for the ensemble.
  /// Called by any other fiber, or when only guards are left, it does nothing and logs an error.
  void unlock() noexcept;

  /// As `unlock()`. @throws std::system_error operation_not_permitted when the calling fiber does not hold the lock
  void unlock_checked();

  /// @returns how often the calling fiber has locked it and not unlocked it yet, guards included; 0 for any other fiber.
  std::size_t depth() const noexcept;

  /// @returns the grant of the fiber that holds the lock through this object; an empty one if none does.
  grant held() const;

  /// @returns the path of the lock.
  const std::string& path() const noexcept { return path_; }

 private:
  friend class detail::lockable<reentrant_mutex>;
  bool take(std::chrono::nanoseconds timeout, std::stop_token stop);
  guard take_guard(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::string path_;
  std::shared_ptr<detail::reentrance> state_;
};

}  // namespace latchkey
