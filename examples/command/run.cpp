// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <latchkey/client.hpp>
#include <latchkey/clock.hpp>
#include <latchkey/guard.hpp>
#include <latchkey/metrics.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/sequencer.hpp>

#include "channel.hpp"
#include "containment.hpp"
#include "descriptor.hpp"
#include "exit_code.hpp"
#include "find_command.hpp"
#include "guarded_tree.hpp"
#include "run_lock.hpp"
#include "run_report.hpp"
#include "run_sessions.hpp"
#include "run_times.hpp"
#include "service_manager.hpp"
#include "show.hpp"
#include "signals.hpp"
#include "tree.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;
using latchkey::boottime_clock;
using nanoseconds = std::chrono::nanoseconds;
using time_point = boottime_clock::time_point;

constexpr auto never = time_point::max();

/// The lease is looked at so many times in a session timeout.
constexpr int looks = 48;

/// Of what a manager of services is told while the lock is waited for.
constexpr std::chrono::milliseconds first_state = 200ms;
constexpr std::chrono::milliseconds between_states = 5s;

/// How long the processes that outlive the command go unmentioned.
constexpr auto patience_with_the_rest = 1s;

std::chrono::milliseconds in_milliseconds(nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

enum class outcome : std::uint8_t {
  ended,        // the command, by itself
  stopped,      // by a signal to this process
  conflict,     // not taken in time
  lost,         // the lock was lost, or about to be
  max_hold,     //
  asked,        // somebody wants the lock
  failed,       // latchkey itself
  cancelled,    // by a signal, before the command was started
  not_started,  //
};

std::string_view name_of(outcome what) {
  constexpr std::array<std::string_view, 9> names{"ended", "stopped", "conflict",  "lost",       "max-hold",
                                                  "asked", "failed",  "cancelled", "not-started"};
  return names.at(static_cast<std::size_t>(what));
}

void write_results(const run_options& how, const run_result& what) {
  if (!how.report.empty()) write_file(how.report, report_of(what));
  if (how.textfile.empty()) return;
  write_file(how.textfile, metrics_of(what, how.textfile, std::chrono::system_clock::now()));
}

/// What wakes the one loop of this process, from any thread.
class waker {
 public:
  waker() : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    if (event_.number() < 0) throw failure("eventfd");
  }
  int number() const noexcept { return event_.number(); }
  void wake() const noexcept { static_cast<void>(::eventfd_write(event_.number(), 1)); }
  void clear() const noexcept {
    eventfd_t value = 0;
    static_cast<void>(::eventfd_read(event_.number(), &value));
  }

 private:
  descriptor event_;
};

struct wake {
  const waker& what;
  void operator()() const noexcept { what.wake(); }
};

/// Requested on a token: wakes.
class watched_token {
 public:
  watched_token(std::stop_token token, const waker& whom) : token_{std::move(token)}, callback_{token_, wake{whom}} {}
  bool requested() const noexcept { return token_.stop_requested(); }

 private:
  std::stop_token token_;
  std::stop_callback<wake> callback_;
};

class runner {
 public:
  runner(const settings& with, const run_options& how, guarded_tree& tree, const descriptor& signals, bool foreground,
         service_manager manager)
      : with_{with}, how_{how}, tree_{tree}, signals_{signals}, foreground_{foreground}, manager_{std::move(manager)} {}

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
    held_.release();
    say(true, printable_sentence(why));
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
    const auto timeout = client_timeout();
    require_time(timeout, how_);
    if (!take_lock()) return end_without_command();
    end_left_runs(how_);  // of those that had the lock when this one began to wait for it
    if (!await_lease()) return lost_before_start();
    try {
      if (!start()) return not_started_;
    } catch (const latchkey::error&) {
      if (held_) throw;
      return lost_before_start();  // between two looks
    }
    supervise();
    return finish();
  }

  std::chrono::milliseconds client_timeout() const {
    return with_.session_timeout.empty() ? usual_timeout : parse_duration(with_.session_timeout);
  }

  // Waiting ----------

  /// Connects and waits on a thread of its own, so that this one hears signals. @returns whether it was taken.
  bool take_lock() {
    std::stop_source give_up;
    std::exception_ptr failed;
    std::atomic<bool> waits{false};
    std::atomic<bool> over{false};
    const auto most = how_.try_once ? std::optional<nanoseconds>{0ns}
                      : how_.wait   ? std::optional<nanoseconds>{*how_.wait}
                                    : std::nullopt;
    std::thread taking{[&] {
      try {
        client_ = connect(with_, budget{with_.timeout}, purpose::hold, [&] { return give_up.stop_requested(); });
        lock_ = make_lock(*client_, how_);
        waits = true;
        if (!give_up.stop_requested()) held_ = lock_.take(most, give_up.get_token());
      } catch (...) {
        failed = std::current_exception();
      }
      over = true;
      waker_.wake();
    }};
    auto next_state = manager_.is_there() ? begun_ + first_state : never;
    while (!over) {
      await(next_state);
      if (!over && boottime_clock::now() >= next_state) {
        if (waits) tell_place();
        next_state = boottime_clock::now() + between_states;
      }
      if (guard_gone_ || (signal_ != 0 && signal_ != SIGWINCH)) give_up.request_stop();
    }
    taking.join();
    if (guard_gone_) throw std::runtime_error{"the guard of the command was ended"};
    if (signal_ == SIGWINCH) signal_ = 0;
    if (signal_ != 0) {
      held_.release();
      cancel();
      return false;
    }
    if (failed) std::rethrow_exception(failed);
    if (!held_) return false;
    taken_ = boottime_clock::now();
    path_ = lock_path();
    fence_ = held_.fence();
    return true;
  }

  void tell_place() const try {
    const latchkey::queue_snapshot queue{*client_, how_.paths.front(), between_states, 0};
    manager_.tell(fmt::format("STATUS=waits for {}, {} in the queue", printable(how_.paths.front()),
                              queue.holder_count() + queue.waiter_count()));
  } catch (const latchkey::error& unknown) {
    manager_.tell(fmt::format("STATUS=waits for {}: {}", printable(how_.paths.front()), printable(unknown.what())));
  }

  int end_without_command() {
    if (what_ == outcome::cancelled) return 128 + signal_;
    what_ = outcome::conflict;
    say(how_.conflict_code != 0, "not taken in time: " + who_holds());  // with -E 0 it is no failure
    return how_.conflict_code;
  }

  /// Of several locks the first that is held.
  std::string who_holds() const try {
    std::string of_first;
    for (const auto& each : how_.paths) {
      const latchkey::queue_snapshot queue{*client_, each, 2s};
      if (queue.holder_count() != 0) return to_string(queue);
      if (of_first.empty()) of_first = to_string(queue);
    }
    return of_first;
  } catch (const latchkey::error& unknown) {
    return unknown.what();
  }

  /// The command starts with no less of the lease than its end may take.
  bool await_lease() {
    timeout_ = client_->session_timeout();
    times_ = times_of(timeout_, 4, how_);
    try {
      warning_.emplace(held_.grant().stop_token(times_.warning()), waker_);
    } catch (const latchkey::error&) {  // T is below four ticks of the servers
      if (how_.grace && *how_.grace + times_.margin > timeout_ / 8) {
        throw usage_error{fmt::format(
            "the servers' ticks leave {} for a warning with a session timeout of {}; give a longer -T, or a shorter "
            "--grace",
            age_of(in_milliseconds(timeout_ / 8)), age_of(in_milliseconds(timeout_)))};
      }
      times_ = times_of(timeout_, 8, how_);
      warning_.emplace(held_.grant().stop_token(times_.warning()), waker_);
    }
    loss_.emplace(held_.stop_token(), waker_);
    asked_.emplace(how_.stop_when_asked ? held_.grant().release_token() : std::stop_token{}, waker_);
    while (held_) {
      if (left() >= times_.warning()) return true;
      await(boottime_clock::now() + timeout_ / looks);
      if (signal_ != 0 && signal_ != SIGWINCH) return false;
    }
    return false;
  }

  nanoseconds left() const { return held_.grant().valid_until() - boottime_clock::now(); }

  int lost_before_start() {
    if (held_) {
      cancel();
      held_.release();
      return 128 + signal_;
    }
    what_ = outcome::lost;
    say(true, fmt::format("the lock was lost before the command was started: {}", why_lost()));
    return static_cast<int>(exit_code::lost);
  }

  // Running ----------

  bool start() {
    const bool kills = how_.how != on_loss::notify;
    const auto signal_before =
        how_.how == on_loss::kill ? nanoseconds{terms::never} : times_.warning() - (kills ? timeout_ / 24 : 0ns);
    known_until_ = held_.grant().valid_until();
    tree_.begun = true;
    const auto said = tree_.tell({.what = word::start,
                                  .with = {.until = known_until_.time_since_epoch().count(),
                                           .kill_before = kills ? times_.margin.count() : terms::never,
                                           .signal_before = std::max<std::int64_t>(signal_before.count(), -1),
                                           .signal = kills ? SIGTERM : how_.loss_signal.value_or(SIGUSR1)},
                                  .text = environment()});
    started_ = boottime_clock::now();
    if (how_.max_hold > 0ms) max_hold_at_ = started_ + *how_.max_hold;
    while (said && !command_ && not_started_ == 0 && !guard_gone_ && !empty_) {
      await(boottime_clock::now() + timeout_ / looks);
      pass_signal();
      tell_lease();
      look_at_timers();
      if (left() > times_.margin / 2) continue;
      set(outcome::lost);  // the guard is stopped, or starved: it may have started the command
      guard_gone_ = true;
    }
    if (not_started_ == 0) {
      manager_.tell(fmt::format("READY=1\nSTATUS=holds {}", printable(lock_path())));
      return true;
    }
    what_ = outcome::not_started;
    say(true, why_not_started_ < 0 ? fmt::format("no process for the command: {}", std::strerror(-why_not_started_))
                                   : std::string{no_command(how_.command.front(), why_not_started_).what()});
    held_.release();
    return false;
  }

  const std::string& lock_path() const { return how_.paths.at(lock_.index().value_or(0)); }

  /// "NAME=value", each with a 0.
  std::string environment() const {
    std::string all;
    const auto add = [&](std::string_view name, std::string_view value) {
      all += fmt::format("LATCHKEY_{}={}", name, value);
      all += '\0';
    };
    const auto index = lock_.index();
    add("PATH", lock_path());
    add("FENCE", to_string(held_.fence()));
    if (!how_.direct) add("SEQUENCER", to_string(latchkey::sequencer_of(held_.grant())));  // it excludes datagrams
    if (index) add("INDEX", fmt::to_string(*index));
    if (const auto dead = lock_.abandoned()) add("ABANDONED", *dead);
    return all;
  }

  void supervise() {
    say(false, fmt::format("holds {}; process {}", printable(path_), command_.value_or(0)));
    while (!empty_ && !guard_gone_) {
      pass_signal();
      tell_lease();
      look_at_grant();
      look_at_timers();
      if (empty_ || guard_gone_) break;
      await(std::min(
          {boottime_clock::now() + timeout_ / looks, max_hold_at_, kill_at_, killed_by_, backstop_, rest_at_}));
    }
    if (!empty_) {
      if (what_ == outcome::ended && !left_alone()) what_ = outcome::failed;
      tree_.end();
    }
    tree_.finish();
  }

  bool left_alone() const noexcept { return tree_.left_alone; }

  void tell_lease() {
    const auto until = held_ ? held_.grant().valid_until() : time_point{};
    if (until == known_until_) return;
    if (tree_.tell({.what = word::until, .with = {.until = until.time_since_epoch().count()}})) known_until_ = until;
  }

  void look_at_grant() {
    if (held_ && asked_->requested() && !std::exchange(was_asked_, true)) {
      stop(SIGTERM, outcome::asked, "the lock is wanted");
      arm_kill();
    }
    if (how_.how == on_loss::notify) return;  // the guard has been told until when it is held
    const auto now = boottime_clock::now();
    if (!held_) {  // the guard has been told, and kills
      set(outcome::lost);
      backstop_ = std::min(backstop_, now + times_.margin / 2);
    } else {
      backstop_ = held_.grant().valid_until() - times_.margin / 2;
      if (how_.how == on_loss::term && warning_->requested()) {
        if (!std::exchange(warned_, true)) {
          stop(SIGTERM, outcome::lost, "the lease runs low");
          kill_at_ = std::min(kill_at_, now + times_.grace);  // also if a late proof comes
        }
      }
    }
    if (now < backstop_) return;
    set(outcome::lost);  // the guard is stopped, or starved
    guard_gone_ = true;
  }

  void look_at_timers() {
    const auto now = boottime_clock::now();
    if (now >= max_hold_at_) {
      max_hold_at_ = never;
      stop(SIGTERM, outcome::max_hold, "it has been held for long enough");
      arm_kill();
    }
    if (now >= kill_at_) {
      kill_at_ = never;
      killed_by_ = now + times_.margin;
      tree_.tell({.what = word::kill});
    }
    if (now >= killed_by_) guard_gone_ = true;  // it is stopped
    if (now >= rest_at_) {
      rest_at_ = never;
      std::string rest;
      for (const auto& each : processes_below_me()) {
        if (each.name != "latchkey-guard") rest += fmt::format(" {} ({})", each.id, printable(each.name));
      }
      if (!rest.empty()) say(true, "the command has ended; the lock is kept for what it has started:" + rest);
    }
  }

  void pass_signal() {
    const int signal = std::exchange(signal_, 0);
    if (signal == 0 || (foreground_ && is_of_terminal(signal))) return;
    if (!asks_to_end(signal)) return void(tree_.tell({.what = word::signal, .value = signal}));
    begin_to_stop();
    stop(signal, outcome::stopped, fmt::format("signal {}", signal));
    arm_kill();
  }

  void begin_to_stop() {
    if (!std::exchange(stopping_, true)) manager_.tell("STOPPING=1");
  }

  void arm_kill() {
    if (how_.kill_after > 0ms) kill_at_ = std::min(kill_at_, boottime_clock::now() + *how_.kill_after);
  }

  void stop(int signal, outcome why, std::string_view text) {
    set(why);
    say(false, fmt::format("ending the command: {}", text));
    tree_.tell({.what = word::stop, .value = signal});
  }

  /// The first reason is the one, but for a loss.
  void set(outcome why) {
    if (what_ == outcome::ended || why == outcome::lost) what_ = why;
  }

  int finish() {
    rest_after_command();
    if (what_ == outcome::lost) say(true, fmt::format("the lock was lost, or about to be: {}", why_lost()));
    held_for_ = boottime_clock::now() - taken_;
    if (what_ == outcome::lost || held_.grant().loss()) lost_ = why_lost();
    lock_.conclude(status_ && *status_ == 0 && what_ == outcome::ended);
    held_.release();
    if (what_ == outcome::lost) return static_cast<int>(exit_code::lost);
    if (what_ == outcome::max_hold) return static_cast<int>(exit_code::max_hold);
    if (!status_ || what_ == outcome::failed) {
      say(true, "the guard of the command was ended, and the command with it");
      return static_cast<int>(exit_code::failed);
    }
    return WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
  }

  /// --hold-for, unless a signal wants it to end, or wanted the command to.
  void rest_after_command() {
    const auto until = started_ + how_.hold_for;
    const auto is_over = [&] {
      if (asks_to_end(signal_)) begin_to_stop();
      return stopping_ || boottime_clock::now() >= until;
    };
    while (!is_over() && held_) await(until);
    if (is_over() || what_ == outcome::lost) return;
    say(true,
        fmt::format("the lock was lost before the time of --hold-for was over: {}; another host may run the command "
                    "once more",
                    why_lost()));
  }

  /// By a signal, before the command has been started.
  void cancel() {
    what_ = outcome::cancelled;
    begin_to_stop();
  }

  std::string why_lost() const {
    const auto why = held_.grant().loss();
    return why ? std::string{to_string(*why)} : "no proof of the session has come in time";
  }

  // The loop ----------

  /// Until something happens, or `until`.
  void await(time_point until) {
    std::array<pollfd, 3> all{pollfd{signals_.number(), POLLIN, 0}, pollfd{waker_.number(), POLLIN, 0},
                              pollfd{guard_gone_ || empty_ ? -1 : tree_.channel(), POLLIN, 0}};
    int most = -1;
    if (until != never) {
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - boottime_clock::now()).count();
      most = static_cast<int>(std::clamp<std::int64_t>(wait, 0, 1'000'000));
    }
    if (::poll(all.data(), all.size(), most) < 0 && errno != EINTR) throw failure("poll");
    waker_.clear();
    signalfd_siginfo news{};
    while (::read(signals_.number(), &news, sizeof news) > 0) take_signal(static_cast<int>(news.ssi_signo));
    while (!guard_gone_ && !empty_ && ::poll(&all[2], 1, 0) == 1) hear();
  }

  /// One that asks to end goes before one that does not.
  void take_signal(int which) {
    if (signal_ == 0 || !asks_to_end(signal_)) signal_ = which;
  }

  void hear() {
    const auto said = tree_.hear();
    if (!said) {
      guard_gone_ = true;
      return;
    }
    switch (said->what) {
      case word::started:
        command_ = static_cast<pid_t>(said->value);
        return;
      case word::not_started:
        why_not_started_ = static_cast<int>(said->value);
        not_started_ = static_cast<int>(why_not_started_ < 0 ? exit_code::failed
                                                             : no_command(how_.command.front(), why_not_started_).code);
        return;
      case word::ended:
        status_ = static_cast<int>(said->value);
        rest_at_ = boottime_clock::now() + patience_with_the_rest;
        if (how_.rest == leftover::leave) leave();
        return;
      case word::empty:
        empty_ = true;
        if (said->value != 0) set(outcome::lost);
        return;
      case word::start:
      case word::until:
      case word::stop:
      case word::signal:
      case word::kill:
      case word::leave:
        return;  // our own
    }
  }

  void leave() {
    tree_.left_alone = true;
    tree_.tell({.what = word::leave});
  }

  void say(bool always, const std::string& what) const {
    if (always || with_.verbose) std::cerr << "latchkey: " << what << '\n';
  }

  void report(int code) const {
    const auto begun_to_hold = taken_ == time_point{} ? boottime_clock::now() : taken_;
    run_result all{.outcome = name_of(what_),
                   .exit_code = code,
                   .path = path_.empty() ? how_.paths.front() : path_,
                   .waited = in_milliseconds(begun_to_hold - begun_),
                   .held = in_milliseconds(held_for_),
                   .status = status_,
                   .lost = lost_};
    if (taken_ != time_point{}) all.fence = fence_;
    if (client_) all.client = client_->metrics();
    write_results(how_, all);
  }

  const settings& with_;
  const run_options& how_;
  guarded_tree& tree_;
  const descriptor& signals_;
  const bool foreground_;
  const service_manager manager_;

  std::unique_ptr<latchkey::client> client_;
  run_lock lock_;
  waker waker_;
  latchkey::guard held_;
  latchkey::fencing_token fence_{};
  nanoseconds timeout_{};
  run_times times_{};
  std::optional<watched_token> warning_, loss_, asked_;

  time_point begun_{}, taken_{}, started_{};
  std::string path_;  // of the lock that is held, or was
  nanoseconds held_for_{};
  std::string lost_;  // why
  time_point known_until_{};
  time_point max_hold_at_ = never;
  time_point kill_at_ = never;
  time_point killed_by_ = never;
  time_point backstop_ = never;
  time_point rest_at_ = never;

  int signal_ = 0;         // that has come, and was not passed on
  bool stopping_ = false;  // a signal has asked this run to end
  bool warned_ = false;
  bool was_asked_ = false;
  bool guard_gone_ = false;
  bool empty_ = false;
  std::optional<pid_t> command_;
  std::optional<int> status_;
  int not_started_ = 0;  // the exit code
  int why_not_started_ = 0;
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
  end_left_runs(how);
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
  write_results(how, {.outcome = name_of(outcome::not_started), .exit_code = code, .path = how.paths.front()});
  return {.code = code};
}

}  // namespace command
