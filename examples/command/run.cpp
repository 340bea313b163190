// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <latchkey/clock.hpp>
#include <latchkey/error.hpp>
#include <latchkey/metrics.hpp>
#include <latchkey/sequencer.hpp>
#include <latchkey/settings.hpp>

#include "containment.hpp"
#include "descriptor.hpp"
#include "exit_code.hpp"
#include "find_command.hpp"
#include "guarded_tree.hpp"
#include "run_loop.hpp"
#include "run_report.hpp"
#include "run_sessions.hpp"
#include "run_times.hpp"
#include "run_waiting.hpp"
#include "service_manager.hpp"
#include "show.hpp"
#include "signals.hpp"
#include "supervision.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;

/// Takes the lock, has the command supervised, and says how that has ended.
class runner {
 public:
  runner(const settings& with, const run_options& how, guarded_tree& tree, const descriptor& signals, bool foreground,
         service_manager manager)
      : with_{with},
        how_{how},
        tree_{tree},
        loop_{tree, signals},
        foreground_{foreground},
        manager_{std::move(manager)},
        say_{with.verbose} {}

  run_end run() {
    begun_ = boottime_clock::now();
    try {
      const int code = run_to_end();
      report(code);
      return {code, next_after(code)};
    } catch (const usage_error& wrong) {
      return fail(wrong.what(), exit_code::usage_of_run);
    } catch (const latchkey::error& failed) {
      const auto code = code_of(errc_of(failed));
      return fail(text_of(failed), code == exit_code::usage ? exit_code::usage_of_run : code);
    } catch (const std::exception& failed) {
      return fail(failed.what(), exit_code::failed);
    }
  }

 private:
  run_end fail(const std::string& why, exit_code code) {
    what_ = outcome::failed;
    tree_.end();
    mine_.held.release();
    say_(true, printable_sentence(why));
    report(static_cast<int>(code));
    const bool for_good = code == exit_code::usage_of_run || code == exit_code::denied;
    return {static_cast<int>(code), for_good ? next_run::none : next_run::after_pause};
  }

  next_run next_after(int code) const {
    switch (what_) {
      case outcome::ended:
        return code == 0 ? next_run::at_once : next_run::after_pause;
      case outcome::asked:
      case outcome::max_hold:
        return next_run::at_once;
      case outcome::conflict:
      case outcome::lost:
      case outcome::failed:
        return next_run::after_pause;
      case outcome::stopped:
      case outcome::cancelled:
      case outcome::not_started:
        break;
    }
    return next_run::none;
  }

  int run_to_end() {
    require_time(client_timeout(), how_);
    take_lock(with_, how_, loop_, manager_, mine_);
    if (loop_.signal() != 0) return cancel();
    if (!mine_.held) return not_taken();
    taken_ = boottime_clock::now();
    path_ = mine_.path(how_);
    fence_ = mine_.held.fence();
    end_left_runs(how_, left_groups::with_processes);  // of those that had the lock before this one
    supervision command{how_, mine_.held, mine_.client->session_timeout(), foreground_, tree_, loop_, manager_, say_};
    try {
      if (!command.await_lease()) return lost_before_start(command);
      if (!command.start(path_, environment())) return not_started(command);
    } catch (const latchkey::error&) {
      if (mine_.held) throw;
      return lost_before_start(command);  // between two looks
    }
    command.run();
    command.rest();
    return finish(command);
  }

  std::chrono::milliseconds client_timeout() const {
    return with_.session_timeout.empty() ? usual_timeout : latchkey::parse_duration(with_.session_timeout);
  }

  /// "NAME=value", each with a 0.
  std::string environment() const {
    std::string all;
    const auto add = [&](std::string_view name, std::string_view value) {
      all += fmt::format("LATCHKEY_{}={}", name, value);
      all += '\0';
    };
    const auto index = mine_.lock.index();
    add("PATH", path_);
    add("FENCE", to_string(fence_));
    if (!how_.direct) add("SEQUENCER", to_string(latchkey::sequencer_of(mine_.held.grant())));  // it excludes datagrams
    if (index) add("INDEX", fmt::to_string(*index));
    if (const auto dead = mine_.lock.abandoned()) add("ABANDONED", *dead);
    return all;
  }

  // Its end ----------

  /// By a signal, before the command has been started.
  int cancel() {
    what_ = outcome::cancelled;
    manager_.tell("STOPPING=1");
    mine_.held.release();
    return 128 + loop_.signal();
  }

  /// @throws latchkey::error if the ensemble does not answer: that is no conflict
  int not_taken() {
    const auto why = who_holds(*mine_.client, how_);
    what_ = outcome::conflict;
    say_(how_.conflict_code != 0, "not taken in time: " + why);  // with -E 0 it is no failure
    return how_.conflict_code;
  }

  int lost_before_start(const supervision& command) {
    if (mine_.held) return cancel();
    what_ = outcome::lost;
    say_(true, fmt::format("the lock was lost before the command was started: {}", command.why_lost()));
    return static_cast<int>(exit_code::lost);
  }

  int not_started(const supervision& command) {
    what_ = command.what();
    mine_.held.release();
    return command.not_started();
  }

  int finish(const supervision& command) {
    what_ = command.what();
    status_ = command.status();
    if (what_ == outcome::lost) say_(true, fmt::format("the lock was lost, or about to be: {}", command.why_lost()));
    held_for_ = boottime_clock::now() - taken_;
    if (what_ == outcome::lost || mine_.held.grant().loss()) lost_ = command.why_lost();
    mine_.lock.conclude(status_ && *status_ == 0 && what_ == outcome::ended);
    mine_.held.release();
    tree_.finish();  // the next run need not wait until the guard has gone
    if (what_ == outcome::lost) return static_cast<int>(exit_code::lost);
    if (what_ == outcome::max_hold) return static_cast<int>(exit_code::max_hold);
    if (!status_ || what_ == outcome::failed) {
      say_(true, "the guard of the command was ended, and the command with it");
      return static_cast<int>(exit_code::failed);
    }
    return WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
  }

  void report(int code) const {
    const bool was_taken = taken_ != time_point{};
    run_result all{.what = what_,
                   .exit_code = code,
                   .path = was_taken ? path_ : how_.paths.front(),
                   .waited = in_milliseconds((was_taken ? taken_ : boottime_clock::now()) - begun_),
                   .held = in_milliseconds(held_for_),
                   .status = status_,
                   .lost = lost_};
    if (was_taken) all.fence = fence_;
    if (mine_.client && !how_.textfile.empty()) {
      mine_.client->close();  // until then its node is owed
      all.client = mine_.client->metrics();
    }
    write_results(how_, all);
  }

  const settings& with_;
  const run_options& how_;
  guarded_tree& tree_;
  run_loop loop_;
  const bool foreground_;
  const service_manager manager_;
  const run_voice say_;

  taken_lock mine_;
  std::string path_;  // of the lock that is held, or was
  latchkey::fencing_token fence_{};
  time_point begun_{};
  time_point taken_{};
  std::chrono::nanoseconds held_for_{};
  std::string lost_;  // why
  std::optional<int> status_;
  outcome what_ = outcome::ended;
};

std::string label_of(const std::vector<std::string>& command) {
  constexpr std::size_t most = 128;
  return fmt::format("{}", fmt::join(command, " ")).substr(0, most);
}

/// A command that runs this again at the path of its own lock waits for itself.
void warn_of_lock_above(const run_options& how) {
  const auto* const above = std::getenv("LATCHKEY_PATH");
  const bool may_be_held_beside = how.shared || how.permits_in_all != 0;
  if (above == nullptr || how.try_once || may_be_held_beside) return;
  if (std::find(how.paths.begin(), how.paths.end(), above) == how.paths.end()) return;
  std::cerr << fmt::format(
      "latchkey: this is run by a command that holds {} (LATCHKEY_PATH); if that is the same lock, this waits for "
      "it in vain: lock only once\n",
      printable(above));
}

}  // namespace

int parse_signal(const std::string& text) {
  constexpr std::array names{std::pair{"HUP", SIGHUP},   std::pair{"INT", SIGINT},   std::pair{"QUIT", SIGQUIT},
                             std::pair{"TERM", SIGTERM}, std::pair{"USR1", SIGUSR1}, std::pair{"USR2", SIGUSR2}};
  const auto name = text.starts_with("SIG") ? text.substr(3) : text;
  for (const auto& [known, number] : names) {
    if (name == known || name == fmt::to_string(number)) return number;
  }
  throw usage_error{fmt::format("\"{}\" is no signal to tell a command with; use HUP, INT, QUIT, TERM, USR1 or USR2",
                                printable(text))};
}

run_end run_under_lock(settings with, const run_options& how) try {
  if (with.label.empty()) with.label = label_of(how.command);
  if (with.session_timeout.empty() && how.grace) {
    const auto needed = timeout_for(*how.grace);
    if (needed > longest_duration) {
      throw usage_error{fmt::format("--grace {} needs a session of {}, and no server keeps one for more than a day",
                                    age_of(*how.grace), age_of(needed))};
    }
    with.session_timeout = fmt::format("{}ms", needed.count());
    if (needed > usual_timeout) {
      std::cerr << fmt::format("latchkey: --grace {} needs a session timeout of {}, which is asked for\n",
                               age_of(*how.grace), age_of(needed));
    }
  }
  while (::open("/dev/null", O_RDWR | O_CLOEXEC) <= STDERR_FILENO) {  // the standard ones may be closed
  }
  warn_of_lock_above(how);
  // Before the guard is forked, which has the environment of the command. This run may be below another one.
  for (const auto* each : {"PATH", "FENCE", "SEQUENCER", "INDEX", "ABANDONED"})
    ::unsetenv((std::string{"LATCHKEY_"} + each).c_str());
  auto manager = how.notify ? service_manager::of_this_process() : service_manager{};
  guarded_command what;
  what.group = ::getpgrp();
  what.file = find_command(how.command.front());
  what.arguments = how.command;
  what.foreground = ::isatty(STDIN_FILENO) == 1;
  what.rest = how.rest;
  what.grace = how.grace.value_or(2s);
  what.priority = ::getpriority(PRIO_PROCESS, 0);
  end_left_runs(how, left_groups::all);
  end_left_run_sessions(how.session_folder, how.paths, with);
  const auto session = run_session::make(how.session_folder, how.paths, with);
  if (session) with.session_file = session->file();
  const auto contained = make_cgroup(how, with.verbose);
  what.contained = contained.get();

  sigset_t all;
  sigfillset(&all);
  if (::sigprocmask(SIG_BLOCK, &all, &what.signals) != 0) throw failure("sigprocmask");
  ::signal(SIGCHLD, SIG_DFL);  // who ignores it hears of no child's end
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) throw failure("prctl");
  guarded_tree tree{what};
  const auto ours = heard_signals();
  const descriptor signals{::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (signals.number() < 0) throw failure("signalfd");
  return runner{with, how, tree, signals, what.foreground, std::move(manager)}.run();
} catch (const not_executable& wrong) {
  std::cerr << "latchkey: " << wrong.what() << '\n';
  const auto code = static_cast<int>(wrong.code);
  write_results(how, {.what = outcome::not_started, .exit_code = code, .path = how.paths.front()});
  return {.code = code};
}

}  // namespace command
