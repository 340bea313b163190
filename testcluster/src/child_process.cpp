// SPDX-License-Identifier: Apache-2.0
#include "child_process.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "block_signals.hpp"
#include "latchkey/testing/error.hpp"
#include "unique_fd.hpp"

namespace latchkey::testing::detail {

using namespace std::chrono_literals;

namespace {

/// Opens above the standard descriptors, so that dup2 always makes a copy.
unique_fd open_high(const char* path, int flags) {
  const unique_fd low{::open(path, flags | O_CLOEXEC, 0644)};
  return unique_fd{low ? ::fcntl(low.value(), F_DUPFD_CLOEXEC, 3) : -1};
}

struct launch {
  pid_t parent;
  const std::vector<char*>& arguments;
  int input;
  int output;
  int report;  // gets errno if exec fails
};

/// Runs in the child. Other threads may have held any lock at the fork: only async-signal-safe calls from here on.
[[noreturn]] void become(const launch& how) noexcept {
  ::setpgid(0, 0);  // Ctrl-C in a terminal is for us, not for the servers
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != how.parent) ::_exit(127);  // we were too late: it has died already
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(how.input, STDIN_FILENO);
  ::dup2(how.output, STDOUT_FILENO);
  ::dup2(how.output, STDERR_FILENO);
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execv(how.arguments.front(), how.arguments.data());
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(how.report, &error, sizeof error);
  ::_exit(127);
}

pid_t fork_and_exec(const std::vector<std::string>& command, const std::filesystem::path& log) {
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const auto input = open_high("/dev/null", O_RDONLY);
  const auto output = open_high(log.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  std::array<int, 2> ends{-1, -1};
  if (!input || !output || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw cluster_error("cannot open " + log.string() + ": " + std::strerror(errno));
  }
  const unique_fd report{ends[0]};
  unique_fd reporter{ends[1]};
  const launch how{::getpid(), arguments, input.value(), output.value(), reporter.value()};

  const auto pid = ::fork();
  if (pid == 0) become(how);
  if (pid < 0) throw cluster_error(std::string{"fork: "} + std::strerror(errno));

  reporter.reset();
  int error = 0;
  if (::read(report.value(), &error, sizeof error) == sizeof error) {
    ::waitpid(pid, nullptr, 0);
    throw cluster_error("cannot execute " + command.front() + ": " + std::strerror(error));
  }
  return pid;
}

}  // namespace

spawner::spawner() : thread_([this](std::stop_token stop) { serve(std::move(stop)); }) {}
spawner::~spawner() = default;

void spawner::serve(std::stop_token stop) {
  block_signals();  // here and between fork and exec: no handler of the program may run in the child
  std::unique_lock lock{mutex_};
  while (wake_.wait(lock, stop, [&] { return !tasks_.empty(); })) {
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

pid_t spawner::spawn(const std::vector<std::string>& command, const std::filesystem::path& log) {
  std::packaged_task<pid_t()> task{[&] { return fork_and_exec(command, log); }};
  auto started = task.get_future();
  {
    std::lock_guard lock{mutex_};
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
  return started.get();
}

void child_process::adopt(pid_t pid) {
  std::lock_guard lock{mutex_};
  pid_ = pid;
  paused_ = false;
}

/// @pre the mutex is held
void child_process::look() const {
  int status = 0;
  while (pid_ != 0) {
    const auto seen = ::waitpid(pid_, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (seen == 0) return;
    if (seen < 0 && errno == EINTR) continue;
    if (seen > 0 && WIFSTOPPED(status)) {
      paused_ = true;
    } else if (seen > 0 && WIFCONTINUED(status)) {
      paused_ = false;
    } else {
      pid_ = 0;  // ended; or reaped by somebody else, as with SIGCHLD ignored
      paused_ = false;
    }
  }
}

pid_t child_process::pid() const {
  std::lock_guard lock{mutex_};
  look();
  return pid_;
}

bool child_process::alive() const { return pid() != 0; }

bool child_process::paused() const {
  std::lock_guard lock{mutex_};
  look();
  return paused_;
}

void child_process::signal(int number) const {
  std::lock_guard lock{mutex_};
  look();
  if (pid_ != 0) ::kill(pid_, number);  // not reaped, so the number is still its own
}

bool child_process::wait_for_end(std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (alive()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

void child_process::kill() {
  signal(SIGKILL);
  wait_for_end(std::chrono::hours{1});
}

void child_process::stop(std::chrono::milliseconds grace) {
  signal(SIGTERM);
  signal(SIGCONT);
  if (!wait_for_end(grace)) kill();
}

void child_process::pause() {
  signal(SIGSTOP);
  while (alive() && !paused()) std::this_thread::sleep_for(1ms);
}

void child_process::resume() {
  signal(SIGCONT);
  while (paused()) std::this_thread::sleep_for(1ms);
}

}  // namespace latchkey::testing::detail
