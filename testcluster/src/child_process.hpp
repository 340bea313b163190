// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs that we start, and that die when we die.

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace latchkey::testing::detail {

/// Forks from a thread of its own: the kernel sends the death signal when the *thread* that forked ends, so that thread
/// must live as long as the children may.
class spawner {
 public:
  spawner();
  ~spawner();  ///< what it has started dies

  /// Starts the program with no input, its output appended to `log`, its own process group, default signals and no
  /// descriptor of ours. @throws cluster_error  it cannot be started
  pid_t spawn(const std::vector<std::string>& command, const std::filesystem::path& log);

 private:
  void serve(std::stop_token stop);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::packaged_task<pid_t()>> tasks_;
  std::jthread thread_;
};

/// A child of this process. Thread-safe.
class child_process {
 public:
  child_process() = default;
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  void adopt(pid_t pid);             ///< @pre not alive()
  [[nodiscard]] pid_t pid() const;   ///< 0: none, or it has ended
  [[nodiscard]] bool alive() const;  ///< paused is alive
  [[nodiscard]] bool paused() const;
  void signal(int number) const;
  /// @returns whether it has ended by then.
  bool wait_for_end(std::chrono::milliseconds timeout) const;
  void kill();                                 ///< SIGKILL; blocks until it has ended
  void stop(std::chrono::milliseconds grace);  ///< SIGTERM, later SIGKILL; blocks until it has ended
  void pause();                                ///< blocks until it has stopped
  void resume();

 private:
  void look() const;

  mutable std::mutex mutex_;
  mutable pid_t pid_ = 0;
  mutable bool paused_ = false;
};

}  // namespace latchkey::testing::detail
