// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The tour's side of a worker: its process and its pipes.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tour {

/// This program once more, with other arguments, in a process group of its own: Ctrl-C is for the tour alone.
/// Create it on a thread that lives as long as the tour: the worker dies with the thread that made it.
class worker_process {
 public:
  using line_handler = std::function<void(worker_process& from, std::string_view line)>;

  /// `on_line` runs on a thread of this object, for each line that the worker says, and with "gone" when it says no
  /// more.
  /// @throws std::system_error when it cannot be started
  worker_process(std::string name, std::vector<std::string> arguments, line_handler on_line);
  ~worker_process();  ///< as `end()`
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  const std::string& name() const noexcept { return name_; }
  pid_t pid() const noexcept { return pid_; }

  /// Says a line to the worker; nothing happens when that has ended.
  void send(const std::string& line);
  /// Lets the worker see the end of its input.
  void hang_up();
  bool hung_up();

  /// @returns how it ended ("exit code 0", "signal 9"), or nothing if it has not by then.
  std::optional<std::string> wait(std::chrono::milliseconds timeout);

  /// Kills it if it still runs; afterwards it says no more lines.
  void end();

 private:
  void read();

  const std::string name_;
  const line_handler on_line_;
  pid_t pid_ = 0;
  bool reaped_ = false;
  std::string ending_;
  std::mutex writing_;
  int input_ = -1;   // of the worker
  int output_ = -1;  // of the worker
  std::jthread reader_;
};

}  // namespace tour
