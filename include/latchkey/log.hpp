// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Where the log lines of latchkey, and of the ZooKeeper C client under it, go.

#include <functional>
#include <string_view>

namespace latchkey {

/// How grave a log line is.
enum class log_level { debug, info, warning, error };

/// @returns "debug", "info", "warning" or "error".
std::string_view to_string(log_level level) noexcept;

/// Sends every line to `sink`, for the whole process; an empty one, the default, means silence. Set it before the first
/// client is made: the C client decides then how much it says. The sink is called from any thread, by several at once,
/// also from inside calls of latchkey with locks held: it must not call latchkey, and should not wait. What it throws
/// is swallowed. A line that is under way may still reach the sink of before.
void set_log_sink(std::function<void(log_level, std::string_view)> sink);

}  // namespace latchkey
