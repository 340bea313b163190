// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The exception of latchkey and the codes it carries.

#include <string>
#include <system_error>

#include <latchkey/export.hpp>

namespace latchkey {

/// Failures that waiting cannot fix. A timeout, a cancelled wait and a lock that another contender holds are not
/// errors: they are `false`. So is a short outage; a long one is `unreachable`.
enum class errc {
  closed = 1,          ///< the client was closed: make a new one
  lock_destroyed,      ///< the lock object was destroyed while a call or a ticket still used it
  bad_connect_string,  ///< the connect string cannot be parsed
  bad_path,            ///< one that ZooKeeper refuses, of over 4096 bytes, or with a name of an entry (lock-0000000000)
  bad_option,          ///< an option outside its range
  unresolvable_host,   ///< none of the host names in the connect string resolves
  session_timeout_refused,  ///< the ensemble's limits do not allow the requested session timeout
  authentication_failed,    ///< the ensemble does not accept the credentials, or demands others
  not_authorized,           ///< the ACL of a znode denies what a lock needs
  parent_is_ephemeral,      ///< a parent in the path is an ephemeral node, which cannot have children
  queue_exhausted,          ///< the sequence numbers of the path are used up: delete the path, or use another one
  lock_lost,                ///< the lock was held, and has been lost
  place_lost,               ///< the place in line ended with its session, or its node was deleted: queue again
  /// No answer came in time. A try, and a call for a lock whose time is over, fails with it in place of `false` when no
  /// server has answered for longer than the session timeout; or, for a client that has never been connected, for longer
  /// than `client_options::connect_timeout`. A cancelled call is `false` even then, and a call without a limit waits.
  unreachable,
  unsupported,  ///< this build of the C client lacks a feature that was asked for
  refused,      ///< the ensemble refused a request; the message has ZooKeeper's error code and its number
  /// A transaction of more than 900 KiB; or a request of a size with which the servers end each connection, as they do
  /// beyond their `jute.maxbuffer`. The message says how large it was.
  too_large,
  contract_mismatch,  ///< the users of a path do not agree on a number that its node keeps: use the same everywhere
  /// The servers do not have what this client has seen: they have lost data, or are those of another ensemble. Fencing
  /// tokens begin anew, so this client makes no more: see `client_options::go_on_after_data_loss`.
  data_lost,
  session_file_in_use,  ///< the process that keeps its sessions in that file lives: give each process a file of its own
};

/// @returns the category of `errc`, named "latchkey".
LATCHKEY_EXPORT const std::error_category& latchkey_category() noexcept;

/// @returns the code in `latchkey_category()`.
LATCHKEY_EXPORT std::error_code make_error_code(errc code) noexcept;

/// A failure that waiting cannot fix. `code()` is an `errc`; `what()` says what happened and what to do.
class LATCHKEY_EXPORT error : public std::system_error {
 public:
  /// @param what what happened, and what to do
  /// @param path of the lock concerned; empty if there is none
  error(errc code, const std::string& what, std::string path = {});

  /// @returns the path of the lock concerned; empty if there is none.
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace latchkey

/// @cond
template <>
struct std::is_error_code_enum<latchkey::errc> : std::true_type {};
/// @endcond
