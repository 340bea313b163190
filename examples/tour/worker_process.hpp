// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The tour's side of a worker: its process, and what it says.

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <latchkey/testing/child_process.hpp>

namespace tour {

/// This program once more, with other arguments. It dies with the tour.
class worker_process {
 public:
  using line_handler = std::function<void(worker_process& from, std::string_view line)>;

  /// `on_line` runs on a thread of this object, for each line that the worker says, and with "gone" when it says no
  /// more.
  /// @throws latchkey::testing::cluster_error when it cannot be started
  worker_process(std::string name, const std::vector<std::string>& command, line_handler on_line);
  ~worker_process() { end(); }
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  const std::string& name() const noexcept { return name_; }
  /// Says a line to the worker; nothing happens when that has ended.
  void send(const std::string& line) { process_.say(line); }
  /// Lets the worker see the end of its input.
  void hang_up();
  bool hung_up() const noexcept { return hung_up_; }

  /// @returns how it ended ("exit code 0", "signal 9"), or nothing if it has not by then.
  std::optional<std::string> wait(std::chrono::milliseconds timeout) { return process_.wait(timeout); }

  /// Kills it if it still runs; afterwards it says no more lines.
  void end();

 private:
  const std::string name_;
  const line_handler on_line_;
  std::atomic<bool> hung_up_{false};
  latchkey::testing::child_process process_;
  std::jthread reader_;
};

}  // namespace tour
