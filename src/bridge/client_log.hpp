// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The log lines of the C client in ours.

#include <string_view>

#include <latchkey/log.hpp>

namespace latchkey::detail {

struct client_log_line {
  log_level level{};
  std::string_view text;
};

/// @returns the level and the text of "2024-05-01 12:00:00,000:4711(0x7f00):ZOO_WARN@function@42: text"; warning, and
/// all of it, for another line.
client_log_line parse_client_log(std::string_view line) noexcept;

/// The log callback of the C client: on any thread, with its locks held.
void take_client_log(const char* line) noexcept;

/// How much the C client says, in the whole process: nothing that nobody hears.
void set_client_log_level() noexcept;

}  // namespace latchkey::detail
