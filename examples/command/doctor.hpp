// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `latchkey doctor`: whether locks will work well with these servers, this network and this host.

#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "connection.hpp"
#include "show.hpp"

namespace command {

enum class verdict { fine, warning, failure };

/// What one check has found.
struct finding {
  verdict how{};
  std::string about;  ///< what was looked at
  std::string text;   ///< and seen, in one line
};

/// How the clock of this host runs, as the kernel has it.
struct clock_state {
  bool known = true;         ///< false: the kernel does not tell, as in some containers
  bool synchronised = true;  ///< with other clocks
  double correction = 0;     ///< of its frequency, in parts per million
};
clock_state read_clock();

/// The session timeouts that one server grants.
struct session_limits {
  std::chrono::milliseconds least{};
  std::chrono::milliseconds most{};
};

// What is seen, judged. T: the session timeout that is asked for.

/// @param all of the answers' times; not empty
finding judge_round_trips(std::string server, std::vector<std::chrono::nanoseconds> all, std::chrono::milliseconds T);
finding judge_quorum(std::vector<std::chrono::nanoseconds> all, std::chrono::milliseconds T);
/// @param tick of the servers; zero: not known
finding judge_limits(std::string server, const session_limits& its, std::chrono::milliseconds T,
                     std::chrono::milliseconds tick);
/// @param all of the servers that were reached
finding judge_agreement(const std::vector<session_limits>& all);
/// @param granted what the ensemble agreed to
finding judge_lease(std::chrono::milliseconds granted, std::chrono::milliseconds tick);
finding judge_access(const std::string& path, const std::string& permissions_of_anyone);
/// @param ahead how far the clock of this host is ahead of that of the leader
/// Of servers that have the nodes of ClickHouse Keeper.
finding judge_keeper();
/// @param answers whether a datagram to the address that others are told came back
finding judge_peers(bool answers);
/// @param ahead of that of the leader; nothing if that is not known
finding judge_clock(const clock_state& state, std::optional<std::chrono::milliseconds> ahead);

struct doctor_options {
  std::string path;                         ///< whose access control list is looked at; empty: none
  std::chrono::milliseconds server_tick{};  ///< zero: not known
};

/// Looks at each server by itself, then at the ensemble, and prints each finding when it is there. Locks a fresh path
/// below the path, or below "/", for a moment.
/// @returns the worst of all. @throws usage_error
verdict examine(const settings& with, const doctor_options& how, std::ostream& out, bool json);

/// As a line of text, or of JSON.
std::string text_of(const finding& what);
std::string json_of(const finding& what);

}  // namespace command
