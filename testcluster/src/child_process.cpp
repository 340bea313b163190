// SPDX-License-Identifier: Apache-2.0
#include "latchkey/testing/child_process.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "block_signals.hpp"
#include "deadline.hpp"
#include "unique_fd.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;
using detail::deadline_after;
using detail::unique_fd;
using std::chrono::milliseconds;

namespace {

[[noreturn]] void fail(const std::string& what) { throw cluster_error(what + ": " + std::strerror(errno)); }

/// Moves it above the standard descriptors, so that dup2 always makes a copy.
unique_fd lift(const unique_fd& low) { return unique_fd{low ? ::fcntl(low.value(), F_DUPFD_CLOEXEC, 3) : -1}; }

unique_fd open_file(const char* path, int flags) {
  auto file = lift(unique_fd{::open(path, flags | O_CLOEXEC, 0644)});
  if (!file) fail(std::string{"cannot open "} + path);
  return file;
}

/// No pipe: a write to a child that has ended must not raise a signal.
std::array<unique_fd, 2> open_line() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("socketpair");
  return {lift(unique_fd{ends[0]}), lift(unique_fd{ends[1]})};
}

struct launch {
  const std::vector<std::string>& command;
  int input;
  int output;
  int error;
};

/// Runs in the child. Other threads may have held any lock at the fork: only async-signal-safe calls from here on.
/// @param report gets errno if exec fails
[[noreturn]] void become(const launch& what, char** arguments, pid_t parent, int report) noexcept {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // we were too late: it has died already
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(what.input, STDIN_FILENO);
  ::dup2(what.output, STDOUT_FILENO);
  ::dup2(what.error, STDERR_FILENO);
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execv(arguments[0], arguments);
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(report, &error, sizeof error);
  ::_exit(127);
}

pid_t fork_and_exec(const launch& what) {
  std::vector<char*> arguments;
  for (const auto& word : what.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  const unique_fd report{ends[0]};
  unique_fd reporter{ends[1]};

  const auto parent = ::getpid();
  const auto pid = ::fork();
  if (pid == 0) become(what, arguments.data(), parent, reporter.value());
  if (pid < 0) fail("fork");

  reporter.reset();
  int error = 0;
  if (::read(report.value(), &error, sizeof error) == sizeof error) {
    ::waitpid(pid, nullptr, 0);
    errno = error;
    fail("cannot execute " + what.command.front());
  }
  return pid;
}

}  // namespace

struct child_process::impl {
  /// The thread of one child. The kernel kills a child when the *thread* that forked it ends: it stays until then.
  void keep(const launch& what, std::promise<void> started) {
    detail::block_signals();  // here and between fork and exec: no handler of the program may run in the child
    pid_t child = 0;
    try {
      child = fork_and_exec(what);
      const std::lock_guard lock{mutex};
      pid = child;
      paused = false;
      ending.clear();
      started.set_value();
    } catch (...) {
      started.set_exception(std::current_exception());
      return;
    }
    while (look(child)) {
    }
  }

  /// Waits for the next that happens to the child. Only then is it reaped, and under the mutex: until then no other
  /// process has its number. @returns whether it is still there
  bool look(pid_t child) {
    ::siginfo_t ignored{};
    ::waitid(P_PID, static_cast<id_t>(child), &ignored, WEXITED | WSTOPPED | WCONTINUED | WNOWAIT);
    const std::lock_guard lock{mutex};
    int status = 0;
    const auto seen = ::waitpid(child, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (seen > 0) paused = WIFSTOPPED(status);
    if (paused) ++pauses;
    if (seen < 0) ending = "reaped by another";  // as with SIGCHLD ignored
    if (seen > 0 && WIFEXITED(status)) ending = "exit code " + std::to_string(WEXITSTATUS(status));
    if (seen > 0 && WIFSIGNALED(status)) ending = "signal " + std::to_string(WTERMSIG(status));
    if (!ending.empty()) pid = 0;
    if (pid == 0) paused = false;
    changed.notify_all();
    return pid != 0;
  }

  std::mutex mutex;
  std::condition_variable changed;
  pid_t pid = 0;
  bool paused = false;
  unsigned pauses = 0;
  std::string ending;
  std::thread keeper;

  std::mutex speaking;
  unique_fd line;
  std::string heard;  // and not asked for yet
};

child_process::child_process() : impl_{std::make_unique<impl>()} {}

child_process::child_process(const std::vector<std::string>& command, const child_options& how) : child_process{} {
  start(command, how);
}

child_process::~child_process() {
  kill();
  if (impl_->keeper.joinable()) impl_->keeper.join();
}

void child_process::start(const std::vector<std::string>& command, const child_options& how) {
  if (command.empty()) throw cluster_error{"the command of a child process is empty; name a program"};
  if (alive()) throw cluster_error{"the child process is still alive; wait for its end, or kill it, before the next"};
  if (impl_->keeper.joinable()) impl_->keeper.join();  // that of the one before
  auto line = how.talks ? open_line() : std::array<unique_fd, 2>{};
  const auto log = how.log.empty() ? unique_fd{} : open_file(how.log.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  const auto silence = how.talks ? unique_fd{} : open_file("/dev/null", O_RDONLY);
  const launch what{.command = command,
                    .input = how.talks ? line[1].value() : silence.value(),
                    .output = how.talks ? line[1].value() : (log ? log.value() : STDOUT_FILENO),
                    .error = log ? log.value() : STDERR_FILENO};
  {
    const std::lock_guard lock{impl_->speaking};
    impl_->line = std::move(line[0]);
    impl_->heard.clear();
  }
  std::promise<void> promise;
  auto started = promise.get_future();
  impl_->keeper =
      std::thread{[this, &what, promise = std::move(promise)]() mutable { impl_->keep(what, std::move(promise)); }};
  started.get();
}

int child_process::pid() const {
  const std::lock_guard lock{impl_->mutex};
  return impl_->pid;
}

bool child_process::alive() const { return pid() != 0; }

bool child_process::paused() const {
  const std::lock_guard lock{impl_->mutex};
  return impl_->paused;
}

void child_process::signal(int number) const {
  const std::lock_guard lock{impl_->mutex};
  if (impl_->pid != 0) ::kill(impl_->pid, number);  // not reaped, so the number is still its own
}

void child_process::pause() {
  std::unique_lock lock{impl_->mutex};
  const auto before = impl_->pauses;  // it counts also if another process lets it go on at once
  lock.unlock();
  signal(SIGSTOP);
  lock.lock();
  impl_->changed.wait(lock, [&] { return impl_->pid == 0 || impl_->paused || impl_->pauses != before; });
}

void child_process::resume() {
  signal(SIGCONT);
  std::unique_lock lock{impl_->mutex};
  impl_->changed.wait(lock, [&] { return !impl_->paused; });
}

void child_process::stop(milliseconds grace) {
  signal(SIGTERM);
  signal(SIGCONT);
  if (!wait(grace)) kill();
}

void child_process::kill() {
  signal(SIGKILL);
  wait();
}

std::optional<std::string> child_process::wait(milliseconds timeout) const {
  std::unique_lock lock{impl_->mutex};
  if (!impl_->changed.wait_until(lock, deadline_after(timeout), [&] { return impl_->pid == 0; })) return std::nullopt;
  return impl_->ending;
}

bool child_process::say(std::string_view line) {
  const std::lock_guard lock{impl_->speaking};
  std::string whole{line};
  whole += '\n';
  for (std::string_view rest = whole; !rest.empty();) {
    const auto count = ::send(impl_->line.value(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void child_process::hang_up() {
  const std::lock_guard lock{impl_->speaking};
  ::shutdown(impl_->line.value(), SHUT_WR);
}

std::optional<std::string> child_process::hear(milliseconds timeout) {
  const auto end = deadline_after(timeout);
  auto& heard = impl_->heard;
  std::array<char, 4096> part{};
  while (heard.find('\n') == std::string::npos) {
    if (!impl_->line) return std::nullopt;
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    ::pollfd ready{impl_->line.value(), POLLIN, 0};
    const int events = ::poll(&ready, 1, static_cast<int>(std::max(0ms, left).count()));
    if (events == 0) return std::nullopt;
    const auto count = events < 0 ? -1 : ::recv(impl_->line.value(), part.data(), part.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 && !heard.empty()) return std::exchange(heard, {});  // its last line has no end
    if (count <= 0) return std::nullopt;
    heard.append(part.data(), static_cast<std::size_t>(count));
  }
  const auto at = heard.find('\n');
  auto said = heard.substr(0, at);
  heard.erase(0, at + 1);
  return said;
}

}  // namespace latchkey::testing
