// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program that this process starts, stops, kills and speaks with.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "latchkey/testing/error.hpp"
#include "latchkey/testing/export.hpp"

namespace latchkey::testing {

struct child_options {
  std::filesystem::path log{};  ///< what it writes to the standard error is appended here; empty: it has ours
  /// say() and hear() are its standard input and output. Otherwise there is no input, and the output goes to the log
  /// as well; without a log it goes to ours.
  bool talks = true;
};

/// A program in a process of its own. It ends with this process, even if this one is killed with SIGKILL.
///
/// It has a process group of its own (Ctrl-C in a terminal is for this process), default signals, and no descriptor of
/// ours but the standard ones. One object can start several, one after the other.
///
/// Thread-safe; but only one thread at a time may hear(), and none while start() runs. In a forked child the object must
/// not be used, nor destroyed.
class LATCHKEY_TESTING_EXPORT child_process {
 public:
  static constexpr auto for_ever = std::chrono::milliseconds::max();

  child_process();                                                                                 ///< none yet
  explicit child_process(const std::vector<std::string>& command, const child_options& how = {});  ///< start()
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process();  ///< kill()

  /// Starts the program. @param command  its path and its arguments
  /// @pre not alive(). @throws cluster_error  it cannot be started
  void start(const std::vector<std::string>& command, const child_options& how = {});

  [[nodiscard]] int pid() const;     ///< 0: none, or it has ended
  [[nodiscard]] bool alive() const;  ///< paused is alive
  [[nodiscard]] bool paused() const;

  void signal(int number) const;               ///< nothing happens if it has ended
  void pause();                                ///< SIGSTOP; blocks until it has stopped
  void resume();                               ///< SIGCONT; blocks until it goes on
  void stop(std::chrono::milliseconds grace);  ///< SIGTERM, later SIGKILL; blocks until it has ended
  void kill();                                 ///< SIGKILL; blocks until it has ended

  /// @returns how it ended ("exit code 0", "signal 9"), or nothing if it has not by then.
  std::optional<std::string> wait(std::chrono::milliseconds timeout = for_ever) const;

  /// Writes a line to its input. @returns false if it reads no more
  bool say(std::string_view line);
  void hang_up();  ///< ends its input

  /// @returns the next line of its output; nothing if none comes in time, or it writes no more.
  std::optional<std::string> hear(std::chrono::milliseconds timeout = for_ever);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace latchkey::testing
