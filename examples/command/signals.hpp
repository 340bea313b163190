// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The signals that `latchkey run` passes on.

#include <array>
#include <csignal>

namespace command {

inline constexpr std::array forwarded{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

/// @returns those that are not ignored, as with nohup(1).
inline sigset_t heard_signals() {
  sigset_t heard;
  sigemptyset(&heard);
  for (const int each : forwarded) {
    struct sigaction now {};
    ::sigaction(each, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&heard, each);
  }
  return heard;
}

constexpr bool asks_to_end(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

/// The terminal sends it to all processes in its foreground.
constexpr bool is_of_terminal(int signal) { return signal == SIGINT || signal == SIGQUIT || signal == SIGWINCH; }

}  // namespace command
