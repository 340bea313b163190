// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Ctrl-C.

#include <csignal>
#include <stop_token>
#include <thread>

namespace tour {

/// The exit code of a program that was.
inline constexpr int interrupted = 130;

/// The first SIGINT, SIGTERM or SIGHUP asks for a stop, the second ends the process at once (workers and servers die
/// with it). Make it before any other thread: the signals are blocked in all of them.
class signals {
 public:
  signals();

  std::stop_token stop_token() const noexcept { return stop_.get_token(); }

 private:
  void wait(const std::stop_token& end);

  sigset_t ending_;
  std::stop_source stop_;
  std::jthread thread_;
};

}  // namespace tour
