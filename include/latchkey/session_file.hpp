// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Ending the sessions of a process that has died.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <latchkey/client_options.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>

namespace latchkey {

/// What has become of the sessions that a file names.
struct left_sessions {
  std::size_t ended = 0;    ///< lived, and have been ended: their locks are free
  std::size_t expired = 0;  ///< the ensemble had ended them already
  std::int64_t pid = 0;     ///< of the process that has left them; 0 if the file names none
};

/// Ends the sessions that a process has left in its `client_options::session_file`, and with them its locks: for a
/// supervisor, as systemd's `ExecStopPost`. A process that is started again with that file does it by itself.
///
/// Does nothing while that process lives, stopped ones included. From another pid or time namespace the lock of the file
/// alone tells whether it lives. The servers are those that the file names; a simulated ensemble is none.
///
/// Blocking: suspends the calling fiber, or blocks a plain thread, at most `timeout`, and as long as it takes to stop
/// asking.
/// @param through `authentication` and `tls` to connect with; the other options do not matter
/// @throws error session_file_in_use (its process lives), bad_option (there is no such file, it is not a session file, or
/// one of another user or on a network file system), unreachable (what is left ends with its session timeout)
LATCHKEY_EXPORT left_sessions end_left_sessions(given_text<std::string> file, client_options through = {},
                                                saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{
                                                    10});

}  // namespace latchkey
