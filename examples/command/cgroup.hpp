// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A control group (version 2) for the tree of one run: `cgroup.kill` ends all of its processes in one step, and no process
/// without privileges leaves it. See cgroups(7).

#include <sys/types.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "descriptor.hpp"

namespace command {

/// Why there can be none, in words.
struct no_cgroup : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// It is named after the process that makes it, and says which locks its run is under: once that process has gone, a later
/// run under one of them may end what is left.
class cgroup {
 public:
  /// Below that of this process. Tried with a child: call it in a process without threads.
  /// @param paths of the locks @throws no_cgroup
  explicit cgroup(const std::vector<std::string>& paths);
  ~cgroup();
  cgroup(const cgroup&) = delete;
  cgroup& operator=(const cgroup&) = delete;

  /// As fork(2), with the child in it from its beginning: to move a process takes milliseconds.
  pid_t fork_into() const noexcept;
  void kill() const noexcept;
  /// The empty group, and those that the command has made in it.
  void remove() const noexcept;

 private:
  std::string name_;
  descriptor folder_{-1};
  descriptor killer_{-1};
};

enum class left_groups { all, with_processes };

/// Kills what runs of this user under one of these locks have left in their groups, if they were killed together with their
/// guards. Waits until it has ended, and removes the groups, and `all`: those that are empty of runs under any lock.
/// @param which to look at those that are empty costs a read of two files for each run that waits on this host
/// @returns the groups that are not empty by then
std::vector<std::string> end_left_cgroups(const std::vector<std::string>& paths, left_groups which,
                                          std::chrono::milliseconds most);

}  // namespace command
