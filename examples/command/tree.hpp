// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The processes below one that is their subreaper: orphans come to it, so none gets away.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace command {

struct process {
  pid_t id = 0;
  std::string name;  ///< as `ps -o comm` shows it
};

/// @returns all processes below this one that run, or are stopped.
std::vector<process> processes_below_me();

/// @returns when that process was started, in ticks since the boot; nothing if that cannot be read.
std::optional<unsigned long long> start_of(pid_t which);
/// @returns whether it is known that there is no such process, or only what its parent has not taken in.
bool has_ended(pid_t which);

/// Sends each process below this one the signal.
void signal_below_me(int signal);

/// Stops each process below this one before its children are looked for, so that it has no more, and kills all.
/// Processes that were made meanwhile by others are left for the next call.
void kill_below_me();

/// Takes in the children that have ended. @param ended is told of each, with its status
/// @returns whether there is no child any more: as this process is a subreaper, there is then no process below it.
bool reap(const std::function<void(pid_t, int)>& ended);

}  // namespace command
