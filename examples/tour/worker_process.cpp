// SPDX-License-Identifier: Apache-2.0
#include "worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace tour {

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

/// Starts this program with these as its stdin and stdout, and with no signal blocked or ignored.
pid_t spawn(std::vector<std::string>& arguments, int input, int output) {
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  ::posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&files,
                                             STDERR_FILENO + 1);  // the sockets of a proxy are not close-on-exec

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

worker_process::worker_process(std::string name, std::vector<std::string> arguments, line_handler on_line)
    : name_{std::move(name)}, on_line_{std::move(on_line)} {
  const auto to_worker = make_pipe();
  const auto from_worker = make_pipe();
  pid_ = spawn(arguments, to_worker[0], from_worker[1]);
  ::close(to_worker[0]);
  ::close(from_worker[1]);
  input_ = to_worker[1];
  output_ = from_worker[0];
  reader_ = std::jthread{[this] { read(); }};
}

worker_process::~worker_process() {
  end();
  ::close(output_);
}

void worker_process::end() {
  hang_up();
  if (!wait(0ms)) {
    ::kill(pid_, SIGKILL);
    wait(10s);
  }
  if (reader_.joinable()) reader_.join();  // its pipe has ended with the worker
}

void worker_process::send(const std::string& line) {
  const std::lock_guard lock{writing_};
  const std::string whole = line + '\n';
  for (std::size_t done = 0; input_ >= 0 && done < whole.size();) {
    const auto count = ::write(input_, whole.data() + done, whole.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // it has ended
    done += static_cast<std::size_t>(count);
  }
}

void worker_process::hang_up() {
  const std::lock_guard lock{writing_};
  if (input_ >= 0) ::close(std::exchange(input_, -1));
}

bool worker_process::hung_up() {
  const std::lock_guard lock{writing_};
  return input_ < 0;
}

std::optional<std::string> worker_process::wait(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!reaped_) {
    int status = 0;
    const pid_t seen = ::waitpid(pid_, &status, WNOHANG);
    if (seen == pid_) {
      reaped_ = true;
      ending_ = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                  : fmt::format("signal {}", WTERMSIG(status));
    } else if (std::chrono::steady_clock::now() >= end) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(5ms);
    }
  }
  return ending_;
}

void worker_process::read() {
  std::string text;
  std::array<char, 4096> chunk;
  for (;;) {
    const auto count = ::read(output_, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return on_line_(*this, "gone");
    text.append(chunk.data(), static_cast<std::size_t>(count));
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      on_line_(*this, std::string_view{text}.substr(0, end));
      text.erase(0, end + 1);
    }
  }
}

}  // namespace tour
