// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Log lines on their way to the sink of the user.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <latchkey/log.hpp>

static_assert(FMT_VERSION >= 90000,
              "latchkey needs fmt 9 or newer; a shared latchkey hides its fmt, so a program may use another");

namespace latchkey::detail {

/// One `key=value` at the end of a log line.
struct log_field {
  std::string_view key;
  std::string value;

  log_field(std::string_view name, std::string_view text) : key{name}, value{text} {}
  log_field(std::string_view name, std::integral auto number) : key{name}, value{fmt::to_string(number)} {}
  /// In milliseconds, which the key should say.
  log_field(std::string_view name, std::chrono::nanoseconds time)
      : log_field{name, std::chrono::floor<std::chrono::milliseconds>(time).count()} {}
};

/// @returns the id of a session as ZooKeeper's own log writes it.
inline std::string session_name(std::int64_t id) {
  return fmt::format("{:#x}", static_cast<std::uint64_t>(id));  // of servers from 128 on it is negative
}

/// @returns whether there is a listener: what costs to be said need not be said otherwise.
bool log_enabled(log_level level) noexcept;

/// From any thread. Never throws.
void log(log_level level, std::string_view line) noexcept;

/// As `log`, followed by the fields. A value with a space or a quote is quoted, and what does not belong on a line is
/// escaped. A field with an empty value is left out.
void log(log_level level, std::string_view line, std::initializer_list<log_field> fields) noexcept;

}  // namespace latchkey::detail
