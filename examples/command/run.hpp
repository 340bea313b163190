// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `latchkey run`: a command under a lock. This process has the lock; a guard (guard.hpp) has the command.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "connection.hpp"
#include "guard.hpp"

namespace command {

/// What becomes of the command when the lock is about to be lost.
enum class on_loss { term, kill, notify };

/// Where the tree of the command is.
enum class containment { automatic, tree, cgroup };

/// As the manual page latchkey-run(1) has them.
struct run_options {
  std::vector<std::string> paths;
  bool any = false;
  bool robust = false;                     ///< the next run is told if the command does not end with 0
  std::chrono::milliseconds lock_delay{};  ///< of such a lock, after a death
  bool shared = false;
  std::uint32_t permits_in_all = 0;  ///< of a semaphore; 0: it is none
  std::uint32_t permits = 1;
  std::optional<std::string> elect;  ///< the identity of a candidate
  bool direct = false;               ///< the next process is told by a datagram, if it is one with `direct`, too
  bool selector = false;             ///< in the format of `LeaderSelector`

  bool try_once = false;
  std::optional<std::chrono::milliseconds> wait;
  int conflict_code = 1;

  on_loss how = on_loss::term;
  std::optional<std::chrono::milliseconds> grace;
  std::optional<int> loss_signal;  ///< of `on_loss::notify`; default: SIGUSR1
  bool stop_when_asked = false;

  std::optional<std::chrono::milliseconds> kill_after;
  std::optional<std::chrono::milliseconds> max_hold;
  std::chrono::milliseconds hold_for{};
  leftover rest = leftover::wait;
  containment where = containment::automatic;

  std::string session_folder;  ///< of `run_session`; empty: the default one; "none": none
  std::string report;          ///< a file; empty: none
  std::string textfile;        ///< a file; empty: none
  bool notify = false;         ///< tells the manager of services: see service_manager.hpp
  std::vector<std::string> command;
};

/// Whether a run is to be repeated, with `--restart`.
enum class next_run : char { none, at_once, after_pause };

struct run_end {
  int code = 0;
  next_run next = next_run::none;
};

/// @returns the number of a signal by its name, as "USR1" or "SIGUSR1", or by its number. @throws usage_error
int parse_signal(const std::string& text);

/// Call it before there is a thread. @throws usage_error, std::system_error
run_end run_under_lock(settings with, const run_options& how);

}  // namespace command
