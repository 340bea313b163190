// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What `latchkey run` leaves in files: how a run has ended.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <latchkey/fencing_token.hpp>
#include <latchkey/metrics.hpp>

#include "run.hpp"

namespace command {

/// How a run has ended.
enum class outcome : std::uint8_t {
  ended,        ///< the command, by itself
  stopped,      ///< by a signal to this process
  conflict,     ///< not taken in time
  lost,         ///< the lock was lost, or about to be
  max_hold,     //
  asked,        ///< somebody wants the lock
  failed,       ///< latchkey itself
  cancelled,    ///< by a signal, before the command was started
  not_started,  //
};

struct run_result {
  outcome what{};
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

/// Writes the files that `how` names.
void write_results(const run_options& how, const run_result& what);

/// What a run says on the standard error.
struct run_voice {
  bool verbose = false;
  void operator()(bool always, const std::string& what) const;
};

/// In one step: others see the old file or the new one. What is no regular file, as a device or a link, is written into.
/// Says so on the standard error if it cannot be written.
void write_file(const std::string& name, const std::string& text);

}  // namespace command
