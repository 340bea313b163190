// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One period of ownership of a lock.

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>

#include <latchkey/clock.hpp>
#include <latchkey/fencing_token.hpp>

namespace latchkey {

namespace detail {
class grant_state;
}

/// Why a grant ended before it was unlocked.
enum class loss_reason {
  session_expired,  ///< the ensemble ended the session, and deleted the node with it
  deadline_passed,  ///< no proof from a quorum in time: the session may be over, and somebody else the owner
  node_deleted,     ///< the node is gone: deleted by an operator, or with a session whose end we have not heard of yet
  client_closed,    ///< our own client was closed
  access_revoked,   ///< the ensemble no longer accepts the credentials
};

/// @returns the reason in words, for a log.
std::string_view to_string(loss_reason reason) noexcept;

/// One period of ownership: a value, copied freely; it may outlive lock and client.
/// Loss: `operator bool` turns false before anybody else can be granted the lock, provided that this machine's clock
/// runs at the right speed; then `stop_token()` is asked to stop, then waiters and observers are told. A
/// default-constructed grant is one that never was. All members may be called from any thread and fiber.
class grant {
 public:
  /// A grant that never was.
  grant() noexcept = default;

  /// @returns whether the lock is held now. Reads the clock itself: a process that was stopped (SIGSTOP, a suspended
  /// laptop) sees the loss on its first look. Never blocks.
  explicit operator bool() const noexcept;

  /// @returns the token to hand to what the lock protects.
  fencing_token fence() const noexcept;

  /// @returns until when the lock is held if no further proof arrives; moves on with each proof. `time_point::min()`
  /// when it is not held.
  boottime_clock::time_point valid_until() const noexcept;

  /// @returns why the grant was lost; nothing while it is held, and after a plain unlock.
  std::optional<loss_reason> loss() const noexcept;

  /// @returns a token that is asked to stop at the loss, not at the unlock. Stop callbacks run on the client's event
  /// thread.
  std::stop_token stop_token() const noexcept;

  /// Waits until the grant is over, be it lost or unlocked: suspends the fiber, or blocks the thread.
  /// @returns whether it is over.
  bool wait_for_end(std::chrono::nanoseconds timeout) const;

  /// @returns whether somebody has asked the holder to release the lock: `ask_to_release()`, or Curator's `Revoker`. Never
  /// blocks for the ensemble; the first look, and `release_token()`, begin to watch for it.
  bool asked_to_release() const noexcept;

  /// @returns a token that is asked to stop when somebody asks for the release of the lock. The lock is still held
  /// then.
  std::stop_token release_token() const noexcept;

  /// Two grants are equal when they are the same period of ownership.
  friend bool operator==(const grant&, const grant&) noexcept = default;

 private:
  friend class detail::grant_state;
  explicit grant(std::shared_ptr<detail::grant_state> state) noexcept : state_{std::move(state)} {}

  std::shared_ptr<detail::grant_state> state_;
};

}  // namespace latchkey
