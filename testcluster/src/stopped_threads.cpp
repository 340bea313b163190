// SPDX-License-Identifier: Apache-2.0
#include "stopped_threads.hpp"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "block_signals.hpp"
#include "latchkey/testing/error.hpp"

namespace latchkey::testing::detail {

using namespace std::chrono_literals;

namespace {

std::vector<pid_t> find_threads(pid_t process, std::string_view name) {
  std::vector<pid_t> found;
  std::error_code none;  // no such process: no threads
  for (const auto& task : std::filesystem::directory_iterator{"/proc/" + std::to_string(process) + "/task", none}) {
    std::ifstream in{task.path() / "comm"};
    std::string comm;
    if (std::getline(in, comm) && comm.starts_with(name)) found.push_back(std::stoi(task.path().filename()));
  }
  if (!found.empty()) return found;
  throw cluster_error("process " + std::to_string(process) + " has no thread " + std::string{name});
}

struct stopped {
  pid_t thread = 0;
  unsigned long signal = 0;  ///< that it was about to get when it stopped, or 0
};

stopped stop(pid_t thread) {
  int status = 0;
  if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0 ||
      ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0 || ::waitpid(thread, &status, __WALL) != thread) {
    throw cluster_error("cannot trace thread " + std::to_string(thread) + ": " + std::strerror(errno));
  }
  if (!WIFSTOPPED(status)) throw cluster_error("thread " + std::to_string(thread) + " has ended");
  return {thread, status >> 16 == PTRACE_EVENT_STOP ? 0 : static_cast<unsigned long>(WSTOPSIG(status))};
}

/// A process that is killed is not gone before the tracer has seen its threads end.
bool has_ended(const stopped& which) {
  int status = 0;
  return ::waitpid(which.thread, &status, __WALL | WNOHANG) == which.thread && !WIFSTOPPED(status);
}

void trace(const std::stop_token& until, const std::vector<pid_t>& threads, std::promise<void> done) {
  block_signals();
  std::vector<stopped> all;
  const auto go_on = [&] {
    for (const auto& each : all) ::ptrace(PTRACE_DETACH, each.thread, nullptr, each.signal);
  };
  try {
    for (const auto each : threads) all.push_back(stop(each));
  } catch (...) {
    go_on();
    return done.set_exception(std::current_exception());
  }
  done.set_value();
  std::mutex mutex;
  std::unique_lock lock{mutex};
  std::condition_variable_any bell;
  while (!until.stop_requested() && !all.empty()) {
    std::erase_if(all, has_ended);
    bell.wait_for(lock, until, 5ms, [] { return false; });
  }
  go_on();
}

}  // namespace

stopped_threads::stopped_threads(pid_t process, std::string_view name) {
  std::promise<void> promise;
  auto done = promise.get_future();
  tracer_ = std::jthread{trace, find_threads(process, name), std::move(promise)};
  done.get();
}

}  // namespace latchkey::testing::detail
