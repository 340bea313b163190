// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The signals that `latchkey run` passes on.

#include <array>
#include <csignal>

namespace command {

inline constexpr std::array forwarded{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

constexpr bool asks_to_end(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

/// The terminal sends it to all processes in its foreground.
constexpr bool is_of_terminal(int signal) { return signal == SIGINT || signal == SIGQUIT || signal == SIGWINCH; }

}  // namespace command
