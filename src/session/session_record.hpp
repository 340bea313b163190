// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The lines of a `client_options::session_file`. Pure.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey::detail {

/// A process, so that no other is taken for it.
struct process_mark {
  std::int64_t pid = 0;                           ///< 0: of none
  std::int64_t start = 0;                         ///< when it was started, by the clock of its boot, or
  static constexpr std::int64_t has_closed = -1;  ///< it needs the file no more
  std::string boot{};
  std::string pid_namespace{};  ///< in which the pid is its own

  bool operator==(const process_mark&) const = default;
};

/// A session that has begun, and is not known to be over.
struct recorded_session {
  std::int64_t id = 0;
  std::string password{};
  std::chrono::milliseconds timeout{};
  std::string servers{};  ///< its hosts, as in a connect string

  bool operator==(const recorded_session&) const = default;
};

/// What such a file says.
struct session_records {
  process_mark owner{};  ///< who wrote the file last
  std::vector<recorded_session> sessions{};
  bool is_foreign = false;  ///< it holds something, and nothing of latchkey
};

std::string line_of(const process_mark& owner);
std::string line_of(const recorded_session& session);

/// Ignores what is no whole line of ours: each carries a sum of itself, so that no damage makes a session of it that was
/// never written.
session_records read_session_records(std::string_view text);

}  // namespace latchkey::detail
