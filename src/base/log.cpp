// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace latchkey {
namespace {

using sink_function = std::function<void(log_level, std::string_view)>;

struct sink_holder {
  std::atomic<bool> enabled{false};
  std::mutex mutex;
  std::shared_ptr<const sink_function> sink;
};

sink_holder& holder();

/// Never destroyed: the threads of the C client may log while the static objects of the process go. A child that is
/// forked while another thread has the mutex would find it locked for ever.
sink_holder& make_holder() {
  ::pthread_atfork([] { holder().mutex.lock(); }, [] { holder().mutex.unlock(); }, [] { holder().mutex.unlock(); });
  return *new sink_holder;
}

sink_holder& holder() {
  static auto& instance = make_holder();
  return instance;
}

}  // namespace

std::string_view to_string(log_level level) noexcept {
  switch (level) {
    case log_level::debug:
      return "debug";
    case log_level::info:
      return "info";
    case log_level::warning:
      return "warning";
    case log_level::error:
      return "error";
  }
  return "unknown";
}

void set_log_sink(std::function<void(log_level, std::string_view)> sink) {
  std::shared_ptr<const sink_function> next;  // destroyed after the lock, then holding the sink of before
  if (sink) next = std::make_shared<const sink_function>(std::move(sink));
  auto& held = holder();
  const std::lock_guard lock{held.mutex};
  held.enabled = next != nullptr;
  held.sink.swap(next);
}

namespace detail {

bool log_enabled() noexcept { return holder().enabled.load(std::memory_order_relaxed); }

void log(log_level level, std::string_view line) noexcept {
  if (!log_enabled()) return;
  try {
    std::shared_ptr<const sink_function> sink;
    {
      auto& held = holder();
      const std::lock_guard lock{held.mutex};
      sink = held.sink;
    }
    if (sink) (*sink)(level, line);
  } catch (...) {  // a log line is no reason to end a thread of the C client
  }
}

}  // namespace detail
}  // namespace latchkey
