// SPDX-License-Identifier: Apache-2.0
#include "supervision.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <latchkey/error.hpp>

#include "exit_code.hpp"
#include "find_command.hpp"
#include "show.hpp"
#include "signals.hpp"
#include "tree.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;
using nanoseconds = std::chrono::nanoseconds;

/// The lease is looked at so many times in a session timeout.
constexpr int looks = 48;

/// How long the processes that outlive the command go unmentioned.
constexpr auto patience_with_the_rest = 1s;

}  // namespace

supervision::supervision(const run_options& how, const latchkey::guard& held, nanoseconds timeout, bool foreground,
                         guarded_tree& tree, run_loop& loop, const service_manager& manager, run_voice voice)
    : how_{how},
      held_{held},
      timeout_{timeout},
      foreground_{foreground},
      tree_{tree},
      loop_{loop},
      manager_{manager},
      say_{voice},
      times_{times_of(timeout, 4, how)} {}

// Start ----------

bool supervision::await_lease() {
  try {
    warning_.emplace(held_.grant().stop_token(times_.warning()), loop_.wakes());
  } catch (const latchkey::error&) {  // T is below four ticks of the servers
    const bool is_too_long = times_.warning() > timeout_ / 4;
    if (is_too_long || (how_.grace && *how_.grace + times_.margin > timeout_ / 8)) {
      const auto left = timeout_ / (is_too_long ? 4 : 8) - times_.margin;
      throw usage_error{fmt::format(
          "the servers grant a session timeout of {}, which leaves {}ms for --grace{}; give {}",
          age_of(in_milliseconds(timeout_)), in_milliseconds(left).count(),
          is_too_long ? "" : " on servers with such ticks",
          is_too_long ? "a shorter one, or raise maxSessionTimeout of the servers" : "a shorter one, or a longer -T")};
    }
    times_ = times_of(timeout_, 8, how_);
    warning_.emplace(held_.grant().stop_token(times_.warning()), loop_.wakes());
  }
  loss_.emplace(held_.stop_token(), loop_.wakes());
  asked_.emplace(how_.stop_when_asked ? held_.grant().release_token() : std::stop_token{}, loop_.wakes());
  while (held_) {
    if (left() >= times_.warning()) return true;
    await(boottime_clock::now() + timeout_ / looks);
    if (loop_.signal() != 0 && loop_.signal() != SIGWINCH) return false;
  }
  return false;
}

nanoseconds supervision::left() const { return held_.grant().valid_until() - boottime_clock::now(); }

bool supervision::start(const std::string& path, const std::string& environment) {
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
                                .text = environment});
  started_ = boottime_clock::now();
  if (how_.max_hold > 0ms) max_hold_at_ = started_ + *how_.max_hold;
  while (said && !command_ && not_started_ == 0 && !loop_.guard_gone() && !loop_.empty()) {
    await(boottime_clock::now() + timeout_ / looks);
    pass_signal();
    tell_lease();
    look_at_timers();
    if (left() > times_.margin / 2) continue;
    set(outcome::lost);  // the guard is stopped, or starved: it may have started the command
    loop_.give_guard_up();
  }
  if (not_started_ == 0) {
    manager_.tell(fmt::format("READY=1\nSTATUS=holds {}", printable(path)));
    say_(false, fmt::format("holds {}; process {}", printable(path), command_.value_or(0)));
    return true;
  }
  what_ = outcome::not_started;
  say_(true, why_not_started_ < 0 ? fmt::format("no process for the command: {}", std::strerror(-why_not_started_))
                                  : std::string{no_command(how_.command.front(), why_not_started_).what()});
  return false;
}

// While it runs ----------

void supervision::run() {
  while (!loop_.empty() && !loop_.guard_gone()) {
    pass_signal();
    tell_lease();
    look_at_grant();
    look_at_timers();
    if (loop_.empty() || loop_.guard_gone()) break;
    await(
        std::min({boottime_clock::now() + timeout_ / looks, max_hold_at_, kill_at_, killed_by_, backstop_, rest_at_}));
  }
  if (!loop_.empty()) {
    if (what_ == outcome::ended && !tree_.left_alone) what_ = outcome::failed;
    tree_.end();
  }
}

void supervision::tell_lease() {
  const auto until = held_ ? held_.grant().valid_until() : time_point{};
  if (until == known_until_) return;
  if (tree_.tell({.what = word::until, .with = {.until = until.time_since_epoch().count()}})) known_until_ = until;
}

void supervision::look_at_grant() {
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
  loop_.give_guard_up();
}

void supervision::look_at_timers() {
  const auto now = boottime_clock::now();
  if (now >= max_hold_at_) {
    max_hold_at_ = end_of_time;
    stop(SIGTERM, outcome::max_hold, "it has been held for long enough");
    arm_kill();
  }
  if (now >= kill_at_) {
    kill_at_ = end_of_time;
    killed_by_ = now + times_.margin;
    tree_.tell({.what = word::kill});
  }
  if (now >= killed_by_) loop_.give_guard_up();  // it is stopped
  if (now >= rest_at_) {
    rest_at_ = end_of_time;
    std::string rest;
    for (const auto& each : processes_below_me()) {
      if (each.name != "latchkey-guard") rest += fmt::format(" {} ({})", each.id, printable(each.name));
    }
    const auto* const lock = held_ ? "the lock is kept for" : "the lock is lost, and nothing ends";
    if (!rest.empty()) say_(true, fmt::format("the command has ended; {} what it has started:{}", lock, rest));
  }
}

// Its end ----------

void supervision::pass_signal() {
  const int signal = loop_.take_signal();
  if (asks_to_end(signal)) begin_to_stop();
  if (signal == 0 || (foreground_ && is_of_terminal(signal))) return;
  if (!asks_to_end(signal)) return void(tree_.tell({.what = word::signal, .value = signal}));
  stop(signal, outcome::stopped, fmt::format("signal {}", signal));
  arm_kill();
}

void supervision::begin_to_stop() {
  if (!std::exchange(stopping_, true)) manager_.tell("STOPPING=1");
}

void supervision::arm_kill() {
  if (how_.kill_after > 0ms) kill_at_ = std::min(kill_at_, boottime_clock::now() + *how_.kill_after);
}

void supervision::stop(int signal, outcome why, std::string_view text) {
  set(why);
  say_(false, fmt::format("ending the command: {}", text));
  tree_.tell({.what = word::stop, .value = signal});
}

/// The first reason is the one, but for a loss.
void supervision::set(outcome why) {
  if (what_ == outcome::ended || why == outcome::lost) what_ = why;
}

/// --hold-for, unless a signal wants it to end, or wanted the command to.
void supervision::rest() {
  if (how_.hold_for > 0ms) tree_.finish();
  const auto until = started_ + how_.hold_for;
  const auto is_over = [&] {
    if (asks_to_end(loop_.signal())) begin_to_stop();
    return stopping_ || boottime_clock::now() >= until;
  };
  while (!is_over() && held_) await(until);
  if (is_over() || what_ == outcome::lost) return;
  say_(true,
       fmt::format("the lock was lost before the time of --hold-for was over: {}; another host may run the command "
                   "once more",
                   why_lost()));
}

std::string supervision::why_lost() const {
  const auto why = held_.grant().loss();
  return why ? std::string{to_string(*why)} : "no proof of the session has come in time";
}

// The loop ----------

void supervision::await(time_point until) {
  loop_.await(until, [this](const packet& said) { hear(said); });
}

void supervision::hear(const packet& said) {
  switch (said.what) {
    case word::started:
      command_ = static_cast<pid_t>(said.value);
      return;
    case word::not_started:
      why_not_started_ = static_cast<int>(said.value);
      not_started_ = static_cast<int>(why_not_started_ < 0 ? exit_code::failed
                                                           : no_command(how_.command.front(), why_not_started_).code);
      return;
    case word::ended:
      status_ = static_cast<int>(said.value);
      rest_at_ = boottime_clock::now() + patience_with_the_rest;
      if (how_.rest == leftover::leave) leave();
      return;
    case word::empty:
      if (said.value != 0) set(outcome::lost);
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

void supervision::leave() {
  tree_.left_alone = true;
  tree_.tell({.what = word::leave});
}

}  // namespace command
