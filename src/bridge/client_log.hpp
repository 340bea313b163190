// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The log lines of the C client in ours.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <latchkey/log.hpp>

#include "base/deadline.hpp"

namespace latchkey::detail {

struct client_log_line {
  log_level level{};
  std::string_view place;  ///< "function@line" in the C client
  std::string_view text;
};

/// @returns the parts of "2024-05-01 12:00:00,000:4711(0x7f00):ZOO_WARN@function@42: text"; for another line warning,
/// no place, and all of it.
///
/// Errors of the C client are warnings here, and all else is debug. What it says of connections is debug, too: it tries
/// all servers in turn, without end, and calls each attempt that fails an error, with an `errno` that may be stale. Our
/// own lines say what they come to.
client_log_line parse_client_log(std::string_view line) noexcept;

/// Lets one line of a place pass, then none for a minute. Pure: the time is an argument.
class client_log_limiter {
 public:
  static constexpr duration interval = std::chrono::minutes{1};

  /// @returns how many lines of that place have been held back since the last one that passed; nothing when this one is
  /// held back.
  std::optional<std::uint64_t> pass(std::string_view place, time_point now);

 private:
  struct last_line {
    time_point passed;
    std::uint64_t held_back = 0;
  };
  std::map<std::string, last_line, std::less<>> places_;  // as many as the C client has lines that log
};

/// @returns whether a line says that a server has closed a connection on which an answer was to come.
bool says_closed_by_server(std::string_view text) noexcept;

/// @param text of a connection that has failed. @returns the address that it names, as `to_text` has it.
std::string server_in(std::string_view text);

/// The log callback of the C client: on any thread, with its locks held.
void take_client_log(const char* line) noexcept;

/// The log callback of one handle. It is the only function of ours that the C client calls on its IO thread, and it is
/// given a line that names no handle: so each handle has a callback of its own.
class handle_log {
 public:
  using callback = void (*)(const char*);

  /// How many handles in the process at once have their own; the log callback of the others is `take_client_log`.
  static constexpr std::size_t most = 64;

  /// @param on_failed_connection called on the IO thread of the handle, with no lock of the C client held, when a
  /// connection or an attempt to connect has failed, before the C client closes its socket; with the line that says why;
  /// must not throw
  explicit handle_log(std::function<void(std::string_view)> on_failed_connection);
  ~handle_log();  ///< @pre the handle is closed
  handle_log(const handle_log&) = delete;
  handle_log& operator=(const handle_log&) = delete;

  callback function() const noexcept;

 private:
  const std::function<void(std::string_view)> on_failed_connection_;
  std::size_t place_ = most;
};

/// How much the C client says, in the whole process: nothing without a listener.
void set_client_log_level() noexcept;

}  // namespace latchkey::detail
