// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Holds a lock for a scope, and beyond.

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>

#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/fencing_token.hpp>
#include <latchkey/grant.hpp>

namespace latchkey {

namespace detail {
class guarded;
class linked_stops;
}  // namespace detail

/// Holds a lock until it is released or destroyed. Made by `acquire()` and its kin; an empty guard holds nothing.
///
/// A guard carries one grant, and releases exactly that one. After a loss it releases nothing, even if the lock has a
/// new holder. It may be moved to any thread and fiber, and released there. Once it has been moved, the lock no longer
/// belongs to the fiber that has taken it: that fiber may wait for the lock again.
///
/// A guard that is not given a name dies at once, and the lock with it. So its members but `release()` are not for
/// temporaries: `if (auto held = lock.try_acquire())` compiles, `if (lock.try_acquire())` does not.
///
/// An empty guard is a guard: `has_value()` of a `std::optional<guard>`, or a `std::unique_ptr<guard>` that is not null,
/// says nothing of the lock. Keep a plain guard, which may be empty, and ask it.
///
/// Blocking: no member blocks or waits for the ensemble.
///
/// Concurrency: as for an `int`; different threads may use it one after the other. `grant()` may be copied to others.
///
/// Lifetime: may outlive the client. The lock object must outlive its guards: its destructor releases the lock, and logs
/// a warning. A guard does not keep it alive, so that the end of a lock object ends all that was made from it.
class [[nodiscard]] LATCHKEY_EXPORT guard {
 public:
  /// Holds nothing.
  guard() noexcept = default;
  /// Takes the grant over. `other` holds nothing afterwards.
  guard(guard&& other) noexcept;
  /// Releases what it holds, and takes the grant over. `other` holds nothing afterwards.
  guard& operator=(guard&& other) noexcept;
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  /// Releases the lock.
  ~guard();

  /// @returns whether the lock is held now: taken, not released, and not lost. Reads the clock, as a grant does.
  explicit operator bool() const& noexcept { return static_cast<bool>(grant_); }

  /// @returns the grant; an empty one after `release()`.
  const latchkey::grant& grant() const& noexcept { return grant_; }

  /// @returns the token for the resource that the lock protects.
  fencing_token fence() const& noexcept { return grant_.fence(); }

  /// @returns a token on which stop is requested at the loss; not at the release. See `grant::stop_token()`.
  std::stop_token stop_token() const& noexcept { return grant_.stop_token(); }

  /// @returns a token on which stop is requested at the loss, and when stop is requested on `also`: the caller's own
  /// shutdown, say. With a time `before`, stop is also requested when less than that of the lease is left: see
  /// `grant::stop_token(before)`. It follows all of them until `release()`. Each `also` costs some 300 bytes until
  /// then; for the same one, the same token is returned. The guard must not be const.
  /// @throws error bad_option for a time that `grant::stop_token(before)` refuses
  std::stop_token stop_token(std::stop_token also, saturating<std::chrono::nanoseconds> before = {}) &;

  // Give the guard a name: this one dies at once.
  explicit operator bool() const&& = delete;
  const latchkey::grant& grant() const&& = delete;
  fencing_token fence() const&& = delete;
  std::stop_token stop_token() const&& = delete;
  std::stop_token stop_token(std::stop_token also, saturating<std::chrono::nanoseconds> before = {}) && = delete;

  /// Releases the lock. Does nothing for an empty guard.
  void release() noexcept;

 private:
  friend class detail::guarded;
  guard(std::shared_ptr<detail::guarded> lock, latchkey::grant what, std::uint64_t holder) noexcept;
  void take_over(guard& other) noexcept;

  std::shared_ptr<detail::guarded> lock_;
  latchkey::grant grant_;
  std::uint64_t holder_ = 0;
  std::shared_ptr<detail::linked_stops> linked_;
};

}  // namespace latchkey
