// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One period of ownership of a lock.

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <latchkey/clock.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/fencing_token.hpp>

namespace latchkey {

namespace detail {
class grant_state;
}

/// Why a grant ended before it was unlocked.
enum class loss_reason {
  session_expired,  ///< the session is over: the ensemble has ended it, or this client gave it up (the log says which)
  deadline_passed,  ///< no proof from a quorum in time: the session may have expired, and the lock have a new owner. With
                    ///< `loss_policy::at_disconnection` also: the connection was lost
  node_deleted,     ///< the node is gone: deleted by an operator, or with a session whose end is not known here yet
  client_closed,    ///< the client was closed, or this process was forked from the one that holds the lock
  access_revoked,  ///< the ensemble no longer accepts the credentials
  held_too_long,   ///< for longer than the option `max_hold` of the lock allows
  data_lost,       ///< the servers have lost the data of the ensemble, or are those of another one
};

/// @returns the reason in words, for a log.
LATCHKEY_EXPORT std::string_view to_string(loss_reason reason) noexcept;

/// One period of ownership of a lock: a value that is copied freely. A default-constructed grant was never held.
///
/// Blocking: `wait_for_end()` suspends the calling fiber, or blocks a plain thread. The other members do not block.
///
/// Concurrency: every member may be called from any thread and fiber.
///
/// Lifetime: may outlive the lock and the client.
///
/// Loss: `operator bool` turns false before any other contender can be granted the lock, provided that the clock of
/// this machine runs at the right rate. Next, stop is requested on `stop_token()`; then waiters and the observer of the
/// client are told. `client::close()` ends a grant in the same way, but the observer is not told: its owner knows.
///
/// fork(): in the child a grant of the parent has ended.
class LATCHKEY_EXPORT grant {
 public:
  /// A grant that was never held.
  grant() noexcept = default;

  /// @returns whether the lock is held now. Reads the clock, so a process that was stopped (SIGSTOP, a suspended
  /// machine) sees the loss at its first look.
  explicit operator bool() const noexcept;

  /// @returns the token for the resource that the lock protects; also after the end of the grant.
  fencing_token fence() const noexcept;

  /// @returns until when the lock is held if no further proof arrives. Each proof moves it on. The clock's epoch, a time
  /// long past, once the grant has ended: what is left is negative then.
  boottime_clock::time_point valid_until() const noexcept;

  /// @returns why the grant was lost; nothing while it is held, and after a plain unlock.
  std::optional<loss_reason> loss() const noexcept;

  /// @returns a token on which stop is requested at the loss; not at the unlock. That of a grant that was never held is
  /// stopped from the beginning.
  ///
  /// A stop callback that is registered before that request runs on the client's event thread, where it must neither
  /// throw nor suspend a fiber. An exception that leaves it ends the process (`std::terminate`), as std specifies,
  /// without a log line. One that is registered later runs at once, on the registering thread, as std specifies.
  std::stop_token stop_token() const noexcept;

  /// @returns a token on which stop is requested when less than `before` of the lease is left, and at the loss at the
  /// latest; not at the unlock. It is for work that needs time to stop cleanly, and that must not begin its last step
  /// too late. Stop callbacks run as those of `stop_token()`.
  ///
  /// The lock is still held then. A proof may yet arrive and extend the lease, but the token stays stopped. So does
  /// that of every later call with the same `before`, until the lock is taken again.
  ///
  /// While it is waited for, the client proves its lease early enough that a holder whose round trips take less than
  /// T/24 (T: the session timeout) is not warned. Up to T/6 this costs no request; beyond that a `sync` every T/12 in
  /// place of T/8, and beyond 5/24 T a proof every T/6 in place of T/4. If less than `before` is left at the call, a
  /// proof is asked for, and stop is not requested for T/12, except at the loss or without a connection.
  ///
  /// @throws error bad_option if `before` is negative or more than T/4, the least that is left to such a holder: a
  /// shorter time than asked for would be no warning. If `client_options::server_tick` says that T is below four ticks,
  /// or the servers have raised T, which is two ticks then by default, the limit is T/8, and a `sync` every T/12 is
  /// needed beyond T/24. Mind that a server may grant a shorter T than `client_options::session_timeout`; if that comes
  /// about at a reconnect, the grants end.
  std::stop_token stop_token(saturating<std::chrono::nanoseconds> before) const;

  /// Waits at most `timeout` until the grant has ended, lost or unlocked.
  /// @returns whether it has ended.
  bool wait_for_end(saturating<std::chrono::nanoseconds> timeout) const;

  /// @returns whether the holder has been asked to release the lock, by `ask_to_release()` or by Curator's `Revoker`.
  /// The first call of this or of `release_token()` begins to watch for requests; one that was made earlier is reported
  /// a round trip later.
  bool asked_to_release() const noexcept;

  /// @returns a token on which stop is requested when the holder is asked to release the lock. The lock is still held
  /// then. Stop callbacks run as those of `stop_token()`: on the client's event thread if they are registered before
  /// the request, otherwise at once, on the registering thread.
  std::stop_token release_token() const noexcept;

  /// Two grants are equal if they are the same period of ownership.
  friend bool operator==(const grant&, const grant&) noexcept = default;

 private:
  friend class detail::grant_state;
  explicit grant(std::shared_ptr<detail::grant_state> state) noexcept : state_{std::move(state)} {}

  std::shared_ptr<detail::grant_state> state_;
};

/// @returns the token and the state, for a log: `<token> held`, `<token> released`, `<token> being released` (see
/// `transaction::commit_and_release()`), or `<token> lost: node deleted`;
/// `no grant` for one that was never held.
LATCHKEY_EXPORT std::string to_string(const grant& what);

}  // namespace latchkey
