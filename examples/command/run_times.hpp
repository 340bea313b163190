// SPDX-License-Identifier: Apache-2.0
#pragma once

/// When the command is asked to end, and killed, before the lease ends.

#include <chrono>

#include "run.hpp"

namespace command {

inline std::chrono::milliseconds in_milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

/// Without --session-timeout.
inline constexpr std::chrono::milliseconds usual_timeout = std::chrono::seconds{10};

/// Of a session timeout.
struct run_times {
  std::chrono::nanoseconds margin;  ///< so long before the end of the lease the tree is killed
  std::chrono::nanoseconds grace;   ///< so long before that the command is asked to end
  std::chrono::nanoseconds warning() const { return margin + grace; }
};

/// @param part of the session timeout: the longest warning
run_times times_of(std::chrono::nanoseconds timeout, int part, const run_options& how);

/// @returns the session timeout that a grace needs: a warning comes at most a quarter of it before the end.
std::chrono::milliseconds timeout_for(std::chrono::nanoseconds grace);

/// Before anything is asked for. @throws usage_error
void require_time(std::chrono::milliseconds timeout, const run_options& how);

/// @returns the longest --grace with that session timeout.
std::chrono::milliseconds longest_grace(std::chrono::milliseconds timeout);

}  // namespace command
