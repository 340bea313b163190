// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What `latchkey run` leaves in files: how a run has ended.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <latchkey/fencing_token.hpp>
#include <latchkey/metrics.hpp>

namespace command {

struct run_result {
  std::string_view outcome;
  int exit_code = 0;
  std::string path;
  std::chrono::milliseconds waited{};
  std::chrono::milliseconds held{};
  std::optional<latchkey::fencing_token> fence{};    ///< nothing: the lock was not taken
  std::optional<int> status{};                       ///< of the command, as of waitpid(2)
  std::string lost{};                                ///< why the lock was lost; empty if it was not
  std::optional<latchkey::client_metrics> client{};  ///< nothing: there was none
};

/// @returns a line of JSON.
std::string report_of(const run_result& what);

/// @returns metrics for the text file collector of Prometheus' node exporter, which reads the files of all jobs of a
/// host together: so each number has the label `run`, the name of the file without what follows the dot.
std::string metrics_of(const run_result& what, const std::string& file, std::chrono::system_clock::time_point now);

/// In one step: others see the old file or the new one. What is no regular file, as a device or a link, is written into.
/// Says so on the standard error if it cannot be written.
void write_file(const std::string& name, const std::string& text);

}  // namespace command
