// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What latchkey logs.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/log.hpp>

namespace latchkey::testing {

/// Keeps the lines of a level and above that are logged while it lives.
class log_lines {
 public:
  explicit log_lines(log_level lowest = log_level::error) {
    set_log_sink([to = lines_, lowest](log_level level, std::string_view line) {
      if (level < lowest) return;
      const std::lock_guard guard{to->mutex};
      to->lines.emplace_back(line);
      to->one_more.notify_all();
    });
  }
  ~log_lines() { set_log_sink({}); }
  log_lines(const log_lines&) = delete;
  log_lines& operator=(const log_lines&) = delete;

  /// @returns those that contain `words`.
  std::vector<std::string> with(const std::string& words) const {
    auto found = all();
    std::erase_if(found, [&](const std::string& line) { return line.find(words) == std::string::npos; });
    return found;
  }
  /// @returns whether such a line has been logged, or is within `timeout`.
  bool wait_for(const std::string& words, std::chrono::milliseconds timeout) const {
    std::unique_lock guard{lines_->mutex};
    return lines_->one_more.wait_for(guard, timeout, [&] {
      return std::any_of(lines_->lines.begin(), lines_->lines.end(),
                         [&](const std::string& line) { return line.find(words) != std::string::npos; });
    });
  }
  std::vector<std::string> all() const {
    const std::lock_guard guard{lines_->mutex};
    return lines_->lines;
  }

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable one_more;
    std::vector<std::string> lines;
  };
  std::shared_ptr<state> lines_ = std::make_shared<state>();  // a line may still be under way at the end
};

}  // namespace latchkey::testing
