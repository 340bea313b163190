// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The one exception of latchkey, and the codes it carries.

#include <string>
#include <system_error>

namespace latchkey {

/// What waiting cannot mend. A timeout, a cancelled wait and a lock held by somebody else are not errors: they are
/// `false`.
enum class errc {
  closed = 1,               ///< the client was closed: make a new one
  lock_destroyed,           ///< the lock object was destroyed while a call or a ticket still used it
  bad_connect_string,       ///< the connect string cannot be read
  bad_path,                 ///< a znode path that ZooKeeper would refuse, or of more than 4096 bytes
  bad_option,               ///< an option outside its range
  unresolvable_host,        ///< none of the host names of the connect string resolves
  session_timeout_refused,  ///< the ensemble's minimum is above the session timeout asked for
  authentication_failed,    ///< the ensemble does not accept the credentials
  not_authorized,           ///< the ACL of a znode does not let us do what a lock needs
  parent_is_ephemeral,      ///< a parent of the path is an ephemeral node, which cannot have children
  queue_exhausted,          ///< the sequence counter of the path is used up: delete the path, or use another
  lock_lost,                ///< the lock was held and is no longer
  place_lost,               ///< the place in line went with its session, or was deleted: queue again
  unreachable,              ///< no server answered in time
  unsupported,              ///< asked for what this build of the C client cannot do
  refused,                  ///< the ensemble refused a request for a reason of its own, which the message gives
};

/// @returns the category of `errc`, named "latchkey".
const std::error_category& latchkey_category() noexcept;

/// @returns the code in `latchkey_category()`.
std::error_code make_error_code(errc code) noexcept;

/// A failure that waiting cannot mend. `code()` is an `errc`, `what()` says what to do, `path()` the lock concerned (or
/// "").
class error : public std::system_error {
 public:
  /// @param what what happened, and what to do
  /// @param path the lock concerned, if there is one
  error(errc code, const std::string& what, std::string path = {});

  /// @returns the path of the lock concerned; empty when there is none.
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace latchkey

/// @cond
template <>
struct std::is_error_code_enum<latchkey::errc> : std::true_type {};
/// @endcond
