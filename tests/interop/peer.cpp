// SPDX-License-Identifier: Apache-2.0
#include "peer.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "support/support.hpp"

namespace latchkey::testing {
namespace {

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error{errno, std::generic_category(), "pipe2"};
  return ends;
}

}  // namespace

peer::peer(const std::vector<std::string>& command) {
  std::signal(SIGPIPE, SIG_IGN);  // a peer that has ended is an error of `say`, not our end
  const auto input = make_pipe();
  const auto output = make_pipe();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const auto& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  const int error = ::posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(input[0]);
  ::close(output[1]);
  input_ = input[1];
  output_ = output[0];
  if (error != 0) {
    ::close(input_);
    ::close(output_);
    throw std::system_error{error, std::generic_category(), command[0]};
  }
  reader_ = std::thread{[this] { read(); }};
}

peer::~peer() {
  kill();
  reader_.join();
  ::close(input_);
  ::close(output_);
}

void peer::say(const std::string& name, std::string_view command) {
  const auto line = fmt::format("{} {}\n", name, command);
  if (::write(input_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::system_error{errno, std::generic_category(), "a peer does not read"};
  }
}

std::string peer::answer(const std::string& name, std::chrono::milliseconds limit) {
  std::unique_lock lock{mutex_};
  auto& mine = answers_[name];
  if (!arrived_.wait_for(lock, limit, [&] { return !mine.empty() || ended_; }) || mine.empty()) {
    throw std::runtime_error{fmt::format("{} {}", name, ended_ ? "has ended" : "does not answer")};
  }
  auto line = std::move(mine.front());
  mine.pop_front();
  if (line.starts_with("failed")) throw std::runtime_error{fmt::format("{}: {}", name, line)};
  return line;
}

bool peer::answered(const std::string& name) {
  const std::scoped_lock lock{mutex_};
  return !answers_[name].empty();
}

void peer::kill() {
  if (process_ == 0) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
}

void peer::read() {
  std::string rest;
  std::array<char, 4096> part{};
  for (;;) {
    const auto size = ::read(output_, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    const std::scoped_lock lock{mutex_};
    if (size <= 0) {
      ended_ = true;
      arrived_.notify_all();
      return;
    }
    rest.append(part.data(), static_cast<std::size_t>(size));
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
      const auto space = rest.find(' ');
      answers_[rest.substr(0, space)].push_back(rest.substr(space + 1, end - space - 1));
      rest.erase(0, end + 1);
    }
    arrived_.notify_all();
  }
}

}  // namespace latchkey::testing
