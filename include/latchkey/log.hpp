// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The log lines of latchkey and of the ZooKeeper C client.

#include <functional>
#include <string_view>

namespace latchkey {

/// The severity of a log line.
enum class log_level { debug, info, warning, error };

/// @returns "debug", "info", "warning" or "error".
std::string_view to_string(log_level level) noexcept;

/// Sends every log line of this process to `sink`. An empty sink, the default, discards them.
///
/// Set it before the first client is made: the C client decides then how much it logs. A line that is being written
/// during the call may still reach the previous sink.
///
/// Concurrency: the sink is called from any thread, by several at once, and from inside calls of latchkey while they
/// hold locks. It must not call latchkey and should not block. An exception that it throws is swallowed.
void set_log_sink(std::function<void(log_level, std::string_view)> sink);

}  // namespace latchkey
