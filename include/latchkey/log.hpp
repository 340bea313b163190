// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The log lines of latchkey and of the ZooKeeper C client.

#include <functional>
#include <string_view>

#include <latchkey/export.hpp>

namespace latchkey {

/// The severity of a log line.
///
/// `error`: a mistake in this program, or a permission that is missing. `warning`: a lock was lost or may be, a
/// connection or a session was lost, no server answers, or one does again. `info`: a connection was made; who holds a
/// lock that a call waits long for; a peer does not answer. `debug`: what the C client says of its connections.
enum class log_level { debug, info, warning, error };

/// @returns "debug", "info", "warning" or "error".
LATCHKEY_EXPORT std::string_view to_string(log_level level) noexcept;

/// Sends every log line of this process to `sink`. An empty sink discards them. Until the first call, warnings and
/// errors go to the standard error stream.
///
/// A line tells one event, in words, mostly with `key=value` pairs at its end: `a lock was lost path=/jobs/daily
/// reason="session expired" held_ms=4711`. It has no control characters. A line that the C client repeats is passed on
/// once a minute.
///
/// Set it before the first client is made: the C client decides then how much it logs. A line that is being written
/// during the call may still reach the previous sink.
///
/// Concurrency: the sink is called from any thread, by several at once, and from inside calls of latchkey while they
/// hold the lock of their client. So it must neither call latchkey nor wait for a thread that does. A call of the same
/// client throws `std::system_error` with `resource_deadlock_would_occur`, or ends the process if it is `noexcept`; one
/// of another client may never return. A sink that blocks keeps up the client, its proofs and its callers: if writing a
/// line may take long, pass the line on to a thread of your own. An exception that the sink throws loses its line, and
/// goes no further; the first one is printed to the standard error stream.
LATCHKEY_EXPORT void set_log_sink(std::function<void(log_level, std::string_view)> sink);

}  // namespace latchkey
