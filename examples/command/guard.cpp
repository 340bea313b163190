// SPDX-License-Identifier: Apache-2.0
#include "guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <limits>

#include "cgroup.hpp"
#include "channel.hpp"
#include "tree.hpp"

namespace command {
namespace {

constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::max();
constexpr int pause_of_killing_ms = 1;

std::int64_t boottime() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

enum class state : std::uint8_t {
  idle,      // the lock is waited for
  running,   //
  stopping,  // the command has been asked to end
  leftover,  // it has ended; what it has started may go on
  killing,   //
  over,
};

enum class event : std::uint8_t { start, warning, stop, deadline, kill, closed, ended, empty, leave };

/// What else an event does than to change the state.
enum class action : std::uint8_t { nothing, spawn, signal, tell_ended, tell_empty };

struct transition {
  state from;
  event on;
  state to;
  action act = action::nothing;
};

/// What is not in it changes nothing.
constexpr std::array transitions{
    transition{state::idle, event::start, state::running, action::spawn},
    transition{state::idle, event::stop, state::over},
    transition{state::idle, event::kill, state::over},
    transition{state::idle, event::closed, state::over},

    transition{state::running, event::warning, state::stopping, action::signal},
    transition{state::running, event::stop, state::stopping, action::signal},
    transition{state::running, event::deadline, state::killing},
    transition{state::running, event::kill, state::killing},
    transition{state::running, event::closed, state::killing},
    transition{state::running, event::ended, state::leftover, action::tell_ended},

    transition{state::stopping, event::stop, state::stopping, action::signal},
    transition{state::stopping, event::deadline, state::killing},
    transition{state::stopping, event::kill, state::killing},
    transition{state::stopping, event::closed, state::killing},
    transition{state::stopping, event::ended, state::leftover, action::tell_ended},

    transition{state::leftover, event::warning, state::leftover, action::signal},
    transition{state::leftover, event::stop, state::leftover, action::signal},
    transition{state::leftover, event::deadline, state::killing},
    transition{state::leftover, event::kill, state::killing},
    transition{state::leftover, event::closed, state::killing},
    transition{state::leftover, event::leave, state::over},
    transition{state::leftover, event::empty, state::over, action::tell_empty},

    transition{state::killing, event::ended, state::killing, action::tell_ended},
    transition{state::killing, event::empty, state::over, action::tell_empty},
};

class guard_process {
 public:
  guard_process(int channel, const guarded_command& what) : channel_{channel}, what_{what} {
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    children_ = ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    timer_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  }

  bool works() const noexcept { return children_ >= 0 && timer_ >= 0; }

  void run() {
    while (state_ != state::over) {
      look_at_children();  // a command that has ended by itself was not ended for the time
      look_at_time();
      if (state_ == state::killing) kill_all();
      look_at_children();
      if (state_ != state::over) wait();
    }
    if (closed_ && what_.contained != nullptr) what_.contained->remove();  // the runner has gone
  }

 private:
  void on(event what, std::int64_t value = 0) {
    const auto* const found = std::find_if(transitions.begin(), transitions.end(), [&](const transition& each) {
      return each.from == state_ && each.on == what;
    });
    if (found == transitions.end()) return;
    state_ = found->to;
    act(found->act, value);
  }

  void act(action what, std::int64_t value) {
    switch (what) {
      case action::nothing:
        return;
      case action::spawn:
        return spawn();
      case action::signal:
        return pass(static_cast<int>(value));
      case action::tell_ended:
        send_packet(channel_, {.what = word::ended, .value = value});
        if (what_.rest == leftover::end && state_ == state::leftover) end_the_rest();
        return;
      case action::tell_empty:
        send_packet(channel_, {.what = word::empty, .value = for_lease_});
        return;
    }
  }

  /// The deadline first: it may have passed while this process was stopped.
  void look_at_time() {
    if (state_ == state::idle) return;
    const auto time = boottime();
    const bool kills = terms_.kill_before != terms::never;
    if (time >= kill_at()) {
      for_lease_ = for_lease_ || time >= end_of_lease();
      return on(event::deadline);
    }
    if (time < signal_at()) return;
    signalled_ = true;
    if (!kills) return pass(terms_.signal);  // the resource protects itself: it is news, and no order
    for_lease_ = true;
    on(event::warning, terms_.signal);
  }

  std::int64_t end_of_lease() const {
    return terms_.kill_before == terms::never ? no_time : terms_.until - terms_.kill_before;
  }
  std::int64_t kill_at() const { return std::min(rest_until_, end_of_lease()); }
  std::int64_t signal_at() const {
    return signalled_ || terms_.signal_before == terms::never ? no_time : terms_.until - terms_.signal_before;
  }

  void look_at_children() {
    if (state_ == state::idle) return;
    signalfd_siginfo news{};
    while (::read(children_, &news, sizeof news) > 0) {
    }
    const bool empty = reap([this](pid_t which, int status) {
      if (which != command_ || ended_) return;
      ended_ = true;  // its number may become that of another
      on(event::ended, status);
    });
    if (empty) on(event::empty);
  }

  void wait() {
    const auto next = state_ == state::idle || state_ == state::killing ? no_time : std::min(kill_at(), signal_at());
    itimerspec at{};
    if (next != no_time) {
      const auto time = std::max<std::int64_t>(next, 1);  // 0 would be no timer
      at.it_value = {static_cast<time_t>(time / 1'000'000'000), static_cast<long>(time % 1'000'000'000)};
    }
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
    std::array<pollfd, 3> all{pollfd{channel_, POLLIN, 0}, pollfd{children_, POLLIN, 0}, pollfd{timer_, POLLIN, 0}};
    if (closed_) all[0].fd = -1;
    ::poll(all.data(), all.size(), state_ == state::killing ? pause_of_killing_ms : -1);
    while (state_ != state::over && !closed_ && ::poll(all.data(), 1, 0) == 1) hear();
  }

  void hear() {
    auto said = receive_packet(channel_);
    if (!said) {
      closed_ = true;
      return on(event::closed);
    }
    switch (said->what) {
      case word::start:
        terms_ = said->with;
        given_ = std::move(said->text);
        if (boottime() < std::min(kill_at(), terms_.until)) return on(event::start);
        state_ = state::over;  // this process was stopped meanwhile: the lease is over
        for_lease_ = true;
        return act(action::tell_empty, 0);
      case word::until:
        // Later only: what is said last may have been said before.
        terms_.until = said->with.until == 0 ? 0 : std::max(terms_.until, said->with.until);
        return;
      case word::stop:
        return on(event::stop, said->value);
      case word::signal:
        return pass(static_cast<int>(said->value));
      case word::kill:
        return on(event::kill);
      case word::leave:
        return on(event::leave);
      case word::started:
      case word::not_started:
      case word::ended:
      case word::empty:
        return;  // our own
    }
  }

  /// The whole tree once the command has ended: there is nothing else to tell.
  void pass(int signal) {
    if (state_ == state::leftover) return signal_below_me(signal);
    if (command_ <= 0 || ended_ || state_ == state::idle || state_ == state::killing) return;
    ::kill(what_.foreground ? command_ : -command_, signal);
  }

  /// A group first, in one step: a tree that forks all the time would get more of the processors than this process.
  void kill_all() {
    if (what_.contained != nullptr) what_.contained->kill();
    if (!what_.foreground && command_ > 0 && !ended_) ::kill(-command_, SIGKILL);
    kill_below_me();
  }

  void end_the_rest() {
    signal_below_me(SIGTERM);
    rest_until_ = boottime() + what_.grace.count();
  }

  void spawn() {
    std::array<int, 2> failure{};
    if (::pipe2(failure.data(), O_CLOEXEC) != 0) return not_started(-errno);
    const auto guard = ::getpid();
    command_ = what_.contained != nullptr ? what_.contained->fork_into() : ::fork();
    if (command_ == 0) become_command(guard, failure[1]);
    const int why_no_fork = errno;
    ::close(failure[1]);
    int why = 0;
    if (command_ < 0) why = -why_no_fork;
    ssize_t got = 0;
    do {
      got = command_ < 0 ? 0 : ::read(failure[0], &why, sizeof why);
    } while (got < 0 && errno == EINTR);
    ::close(failure[0]);
    if (why != 0) return not_started(why);
    send_packet(channel_, {.what = word::started, .value = command_});
  }

  void not_started(int why) {
    state_ = state::over;
    send_packet(channel_, {.what = word::not_started, .value = why});
  }

  [[noreturn]] void become_command(pid_t guard, int failure) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, what_.priority));
    if (::getppid() != guard) ::_exit(125);  // it has gone already
    if (what_.foreground) {
      // A command that is stopped may outlast the lease. In the background it reads no terminal: an error tells it so.
      for (const int each : {SIGTSTP, SIGTTIN, SIGTTOU}) ::signal(each, SIG_IGN);
      ::setpgid(0, what_.group);
    } else {
      ::setpgid(0, 0);
    }
    for (std::size_t at = 0; at < given_.size();) {
      const auto end = given_.find('\0', at);
      if (end == given_.npos) ::_exit(125);  // cut
      ::putenv(given_.data() + at);
      at = end + 1;
    }
    std::vector<char*> arguments;
    for (const auto& each : what_.arguments) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    ::sigprocmask(SIG_SETMASK, &what_.signals, nullptr);
    ::execvp(what_.file.c_str(), arguments.data());  // by the shell, if it is a script that names no interpreter
    const int why = errno;
    ::_exit(::write(failure, &why, sizeof why) == sizeof why ? 127 : 125);
  }

  const int channel_;
  const guarded_command& what_;
  int children_ = -1;
  int timer_ = -1;
  state state_ = state::idle;
  terms terms_;
  std::string given_;
  pid_t command_ = 0;
  std::int64_t rest_until_ = no_time;
  bool ended_ = false;
  bool signalled_ = false;
  bool for_lease_ = false;  // the command was asked to end, or killed, as the lease ran low
  bool closed_ = false;
};

}  // namespace

void run_as_guard(int channel, const guarded_command& what) {
  ::setpgid(0, 0);  // what stops or kills the group of the runner is not for this process
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "latchkey-guard");
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, -20));            // where it is allowed
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they map more than there is memory
  static_cast<void>(::mlockall(MCL_CURRENT));                        // where it is allowed
#endif
  guard_process self{channel, what};
  if (self.works()) self.run();
  ::_exit(0);
}

}  // namespace command
