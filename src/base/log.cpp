// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "base/escape.hpp"

namespace latchkey {
namespace {

using sink_function = std::function<void(log_level, std::string_view)>;

constexpr auto none = static_cast<log_level>(static_cast<int>(log_level::error) + 1);

/// The sink of those who have not set one: warnings and errors go to the standard error stream.
void print(log_level level, std::string_view line) {
  const auto text = fmt::format("latchkey: {}: {}\n", to_string(level), line);
  std::fputs(text.c_str(), stderr);
}

struct sink_holder {
  std::atomic<log_level> lowest{log_level::warning};
  std::mutex mutex;
  std::shared_ptr<const sink_function> sink = std::make_shared<const sink_function>(&print);
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

/// Once: the lines that follow are lost in the same way, most likely.
void report_of_sink(std::string_view failure) noexcept {
  static std::atomic<bool> reported{false};
  if (reported.exchange(true)) return;
  try {
    print(log_level::error, fmt::format("the log sink threw, and its line is lost: {}", detail::escaped(failure)));
  } catch (...) {  // no memory
  }
}

std::string quoted(const std::string& value) {
  auto safe = detail::escaped(value, "\"");
  return safe == value && value.find_first_of(" =") == std::string::npos ? safe : fmt::format("\"{}\"", safe);
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
  std::shared_ptr<const sink_function> next;  // destroyed after the lock, then holding the previous sink
  if (sink) next = std::make_shared<const sink_function>(std::move(sink));
  auto& held = holder();
  const std::lock_guard lock{held.mutex};
  held.lowest = next ? log_level::debug : none;
  held.sink.swap(next);
}

namespace detail {

bool log_enabled(log_level level) noexcept { return level >= holder().lowest.load(std::memory_order_relaxed); }

void log(log_level level, std::string_view line) noexcept {
  if (!log_enabled(level)) return;
  try {
    std::shared_ptr<const sink_function> sink;
    {
      auto& held = holder();
      const std::lock_guard lock{held.mutex};
      sink = held.sink;
    }
    if (sink) (*sink)(level, line);
  } catch (const std::exception& failed) {
    report_of_sink(failed.what());
  } catch (...) {  // a log line is no reason to end a thread of the C client
    report_of_sink("an exception of another type than std::exception");
  }
}

void log(log_level level, std::string_view line, std::initializer_list<log_field> fields) noexcept {
  if (!log_enabled(level)) return;
  try {
    std::string whole{line};
    for (const auto& [key, value] : fields) {
      if (!value.empty()) whole += fmt::format(" {}={}", key, quoted(value));
    }
    log(level, whole);
  } catch (...) {  // no memory: the line is lost
  }
}

}  // namespace detail
}  // namespace latchkey
