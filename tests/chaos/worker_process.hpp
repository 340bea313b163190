// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The run's side of a worker: its process and its pipes.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chaos {

/// This program once more, with other arguments. It ends when its stdin does, so also when this process is killed.
class worker_process {
 public:
  /// What the worker says on stderr goes to the file `log`. @throws std::system_error when it cannot be started
  worker_process(std::vector<std::string> arguments, const std::filesystem::path& log);
  ~worker_process();  ///< as `kill()`
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  void stop() const;    ///< SIGSTOP; returns when it has stopped
  void resume() const;  ///< SIGCONT
  void kill();          ///< SIGKILL; returns when it is gone

  void send(const std::string& line) const;
  /// @returns whether the worker has said anything (it only ever says "finished").
  bool wait_for_word(std::chrono::milliseconds timeout) const;
  /// @returns how it ended ("exit code 0", "signal 9"), or nothing if it has not by then.
  std::optional<std::string> wait(std::chrono::milliseconds timeout);

 private:
  pid_t pid_ = 0;
  int input_ = -1;   // of the worker
  int output_ = -1;  // of the worker
  std::optional<std::string> ending_;
};

}  // namespace chaos
