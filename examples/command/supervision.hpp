// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The command of `latchkey run` while the lock is held.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <latchkey/guard.hpp>

#include "run.hpp"
#include "run_loop.hpp"
#include "run_report.hpp"
#include "run_times.hpp"
#include "service_manager.hpp"

namespace command {

/// Has the guard start the command, tells it of the lease, passes signals on, and ends the command when the lock is about to
/// be lost, is wanted, or has been held for long enough.
class supervision {
 public:
  /// @param held is not released here
  /// @param timeout of its session
  /// @param foreground the terminal sends its signals to the command, too
  supervision(const run_options& how, const latchkey::guard& held, std::chrono::nanoseconds timeout, bool foreground,
              guarded_tree& tree, run_loop& loop, const service_manager& manager, run_voice voice);

  /// The command starts with no less of the lease than its end may take.
  /// @returns false if the lock was lost, or a signal asks for the end. @throws usage_error
  bool await_lease();

  /// @param path of the lock. @param environment what the command gets besides, each "NAME=value" and a 0
  /// @returns whether it was started, as far as is known.
  bool start(const std::string& path, const std::string& environment);

  /// Until nothing of the tree is left, or what is left goes on alone.
  void run();

  /// With --hold-for.
  void rest();

  std::string why_lost() const;
  /// @returns what has ended the command.
  outcome what() const noexcept { return what_; }
  /// @returns its status, once it has ended.
  std::optional<int> status() const noexcept { return status_; }
  /// @returns the exit code if it could not be started.
  int not_started() const noexcept { return not_started_; }

 private:
  void await(time_point until);
  void hear(const packet& said);
  void leave();

  void tell_lease();
  void look_at_grant();
  void look_at_timers();
  std::chrono::nanoseconds left() const;

  void pass_signal();
  void begin_to_stop();
  void arm_kill();
  void stop(int signal, outcome why, std::string_view text);
  void set(outcome why);

  const run_options& how_;
  const latchkey::guard& held_;
  const std::chrono::nanoseconds timeout_;
  const bool foreground_;
  guarded_tree& tree_;
  run_loop& loop_;
  const service_manager& manager_;
  const run_voice say_;

  run_times times_;
  std::optional<watched_token> warning_, loss_, asked_;

  time_point started_{};
  time_point known_until_{};
  time_point max_hold_at_ = end_of_time;
  time_point kill_at_ = end_of_time;
  time_point killed_by_ = end_of_time;
  time_point backstop_ = end_of_time;
  time_point rest_at_ = end_of_time;

  bool stopping_ = false;  // a signal has asked this run to end
  bool warned_ = false;
  bool was_asked_ = false;
  std::optional<pid_t> command_;
  std::optional<int> status_;
  int not_started_ = 0;      // the exit code
  int why_not_started_ = 0;  // an `errno`, or below zero
  outcome what_ = outcome::ended;
};

}  // namespace command
