// SPDX-License-Identifier: Apache-2.0
#include "worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

namespace chaos {

using namespace std::chrono_literals;

namespace {

void check(int code, const char* what) {
  if (code != 0) throw std::system_error{code, std::generic_category(), what};
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  check(::pipe2(ends.data(), O_CLOEXEC) == 0 ? 0 : errno, "pipe2");
  return ends;
}

/// Starts this program in a process group of its own (Ctrl-C is for the run alone), with no signal blocked or ignored.
pid_t spawn(std::vector<std::string>& arguments, int input, int output, const std::filesystem::path& log) {
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  ::posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);

  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_t how;
  ::posix_spawnattr_init(&how);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setpgroup(&how, 0);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setsigdefault(&how, &all);

  pid_t child = 0;
  const int code = ::posix_spawn(&child, "/proc/self/exe", &files, &how, pointers.data(), environ);
  ::posix_spawnattr_destroy(&how);
  ::posix_spawn_file_actions_destroy(&files);
  check(code, "cannot start a worker");
  return child;
}

}  // namespace

worker_process::worker_process(std::vector<std::string> arguments, const std::filesystem::path& log) {
  const auto to_worker = make_pipe();
  const auto from_worker = make_pipe();
  pid_ = spawn(arguments, to_worker[0], from_worker[1], log);
  ::close(to_worker[0]);
  ::close(from_worker[1]);
  input_ = to_worker[1];
  output_ = from_worker[0];
}

worker_process::~worker_process() {
  kill();
  ::close(input_);
  ::close(output_);
}

void worker_process::stop() const {
  ::kill(pid_, SIGSTOP);
  ::siginfo_t seen{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &seen, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
}

void worker_process::resume() const { ::kill(pid_, SIGCONT); }

void worker_process::kill() {
  if (ending_) return;
  ::kill(pid_, SIGKILL);
  wait(60s);
}

void worker_process::send(const std::string& line) const {
  const auto whole = line + '\n';
  // Far below the capacity of a pipe. It fails only when the worker is gone, which is found out elsewhere.
  [[maybe_unused]] const auto count = ::write(input_, whole.data(), whole.size());
}

bool worker_process::wait_for_word(std::chrono::milliseconds timeout) const {
  ::pollfd ready{output_, POLLIN, 0};
  return ::poll(&ready, 1, static_cast<int>(timeout.count())) == 1 && (ready.revents & POLLIN) != 0;
}

std::optional<std::string> worker_process::wait(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!ending_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      ending_ = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                  : fmt::format("signal {}", WTERMSIG(status));
    } else if (std::chrono::steady_clock::now() >= end) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(2ms);
    }
  }
  return ending_;
}

}  // namespace chaos
