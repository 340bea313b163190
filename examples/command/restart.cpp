// SPDX-License-Identifier: Apache-2.0
#include "restart.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "descriptor.hpp"
#include "guarded_tree.hpp"
#include "service_manager.hpp"
#include "signals.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds first_pause = 1s;
constexpr std::chrono::nanoseconds longest_pause = 60s;

/// The signals of this process, one by one.
class signals_in_turn {
 public:
  signals_in_turn() {
    all_ = heard_signals();
    sigaddset(&all_, SIGCHLD);
    ::signal(SIGCHLD, SIG_DFL);
    if (::sigprocmask(SIG_BLOCK, &all_, &before_) != 0) throw failure("sigprocmask");
  }
  void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  /// @returns the next one; 0 when the time is over.
  int wait(std::chrono::nanoseconds most) const {
    const auto s = std::chrono::duration_cast<std::chrono::seconds>(most);
    const timespec time{.tv_sec = s.count(), .tv_nsec = (most - s).count()};
    const int which = ::sigtimedwait(&all_, nullptr, &time);
    return std::max(which, 0);
  }

 private:
  sigset_t all_{};
  sigset_t before_{};
};

/// One run in a process of its own.
class run_in_child {
 public:
  run_in_child(const std::function<run_end()>& one, const signals_in_turn& signals) {
    std::array<int, 2> pipe{};
    // The guard of a run that was killed has the other end, too, and may be stopped: it is not waited for.
    if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw failure("pipe");
    const descriptor writes{pipe[1]};
    reads_ = descriptor{pipe[0]};
    const auto parent = ::getpid();
    id_ = ::fork();
    if (id_ < 0) throw failure("fork");
    if (id_ != 0) return;
    reads_ = descriptor{-1};
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    signals.restore();
    if (::getppid() != parent) ::raise(SIGTERM);
    run_end end;  // not repeated, if it throws
    try {
      end = one();
    } catch (...) {
      tell(writes, end.next);
      throw;
    }
    tell(writes, end.next);
    code_ = end.code;
  }

  bool is_child() const noexcept { return id_ == 0; }
  int code() const noexcept { return code_; }
  void signal(int which) const { ::kill(id_, which); }

  /// @returns whether it has ended.
  bool has_ended() {
    int status = 0;
    if (::waitpid(id_, &status, WNOHANG) != id_) return false;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    auto said = next_run::none;
    if (::read(reads_.number(), &said, 1) == 1) next_ = said;
    return true;
  }
  next_run next() const noexcept { return next_; }

 private:
  static void tell(const descriptor& parent, next_run what) {
    while (::write(parent.number(), &what, 1) < 0 && errno == EINTR) {
    }
  }

  descriptor reads_{-1};
  pid_t id_ = -1;
  int code_ = 0;
  next_run next_ = next_run::after_pause;  // of one that was killed
};

}  // namespace

int run_again_and_again(const std::function<run_end()>& one, bool notify) {
  const auto manager = notify ? service_manager::of_environment() : service_manager{};
  const signals_in_turn signals;
  const bool foreground = ::isatty(STDIN_FILENO) == 1;
  auto pause = first_pause;
  while (true) {
    const auto begun = clock::now();
    run_in_child child{one, signals};
    if (child.is_child()) return child.code();
    bool over = false;
    while (!child.has_ended()) {
      const int which = signals.wait(longest_pause);
      if (which == 0 || which == SIGCHLD) continue;
      over = over || asks_to_end(which);
      if (!foreground || !is_of_terminal(which)) child.signal(which);  // the terminal tells it, too
    }
    if (over || child.next() == next_run::none) return child.code();
    pause = child.next() == next_run::at_once ? first_pause : std::min(pause, longest_pause);
    // What succeeds begins again at once, but not more often than once a second.
    const auto end = child.next() == next_run::at_once ? begun + pause : clock::now() + pause;
    manager.tell("STATUS=has released the lock, and will stand again");
    for (auto now = clock::now(); now < end; now = clock::now()) {
      const int which = signals.wait(end - now);
      if (!asks_to_end(which)) continue;
      manager.tell("STOPPING=1");
      return 128 + which;
    }
    if (child.next() == next_run::after_pause) pause *= 2;
  }
}

}  // namespace command
