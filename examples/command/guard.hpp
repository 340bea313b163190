// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The process between `latchkey run` and the command. It knows nothing of ZooKeeper: until when the command may run it is
/// told, and it ends the command then, also if the runner is killed, stopped or starved, or has no network.

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace command {

class cgroup;

/// What becomes of processes that outlive the command.
enum class leftover { wait, end, leave };

/// What the guard knows from its beginning.
struct guarded_command {
  std::string file;                    ///< to be executed
  std::vector<std::string> arguments;  ///< its name first
  bool foreground = false;             ///< it shares the process group of the runner, and with it the terminal
  leftover rest = leftover::wait;
  std::chrono::nanoseconds grace{};   ///< with `leftover::end`, from SIGTERM to SIGKILL
  sigset_t signals{};                 ///< the mask of the command
  int priority = 0;                   ///< as of setpriority(2)
  pid_t group = 0;                    ///< the process group of the runner
  const cgroup* contained = nullptr;  ///< where the tree is, if it is in a control group
};

/// Runs as the guard until the tree of the command is empty, or the runner has gone. Call it in a child of a process
/// without threads, with all signals blocked.
/// @param channel to the runner (channel.hpp); closed on exec
[[noreturn]] void run_as_guard(int channel, const guarded_command& what);

}  // namespace command
