// SPDX-License-Identifier: Apache-2.0
#include "stopped_thread.hpp"

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

#include "block_signals.hpp"
#include "latchkey/testing/error.hpp"

namespace latchkey::testing::detail {

using namespace std::chrono_literals;

namespace {

pid_t find_thread(pid_t process, std::string_view name) {
  std::error_code none;  // no such process: no threads
  for (const auto& task : std::filesystem::directory_iterator{"/proc/" + std::to_string(process) + "/task", none}) {
    std::ifstream in{task.path() / "comm"};
    std::string comm;
    if (std::getline(in, comm) && comm.starts_with(name)) return std::stoi(task.path().filename());
  }
  throw cluster_error("process " + std::to_string(process) + " has no thread " + std::string{name});
}

/// @returns the signal that the thread was about to get when it stopped, or 0.
int stop(pid_t thread) {
  int status = 0;
  if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0 ||
      ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0 || ::waitpid(thread, &status, __WALL) != thread) {
    throw cluster_error("cannot trace thread " + std::to_string(thread) + ": " + std::strerror(errno));
  }
  if (!WIFSTOPPED(status)) throw cluster_error("thread " + std::to_string(thread) + " has ended");
  return status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
}

/// A process that is killed is not gone before the tracer has seen its thread end. @returns whether it has ended
bool has_ended(pid_t thread) {
  int status = 0;
  return ::waitpid(thread, &status, __WALL | WNOHANG) == thread && !WIFSTOPPED(status);
}

void trace(const std::stop_token& until, pid_t thread, std::promise<void> stopped) {
  block_signals();
  unsigned long pending = 0;
  try {
    pending = static_cast<unsigned long>(stop(thread));
  } catch (...) {
    return stopped.set_exception(std::current_exception());
  }
  stopped.set_value();
  std::mutex mutex;
  std::unique_lock lock{mutex};
  std::condition_variable_any bell;
  while (!until.stop_requested()) {
    if (has_ended(thread)) return;
    bell.wait_for(lock, until, 5ms, [] { return false; });
  }
  ::ptrace(PTRACE_DETACH, thread, nullptr, pending);
}

}  // namespace

stopped_thread::stopped_thread(pid_t process, std::string_view name) {
  std::promise<void> promise;
  auto stopped = promise.get_future();
  tracer_ = std::jthread{trace, find_thread(process, name), std::move(promise)};
  stopped.get();
}

}  // namespace latchkey::testing::detail
