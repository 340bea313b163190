// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What latchkey logs.

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/log.hpp>

namespace latchkey::testing {

/// Keeps the errors, or other lines, that are logged while it lives.
class log_lines {
 public:
  explicit log_lines(log_level kept = log_level::error) {
    set_log_sink([to = lines_, kept](log_level level, std::string_view line) {
      if (level != kept) return;
      const std::lock_guard guard{to->mutex};
      to->errors.emplace_back(line);
    });
  }
  ~log_lines() { set_log_sink({}); }
  log_lines(const log_lines&) = delete;
  log_lines& operator=(const log_lines&) = delete;

  /// @returns those that contain `path`.
  std::vector<std::string> errors(const std::string& path) const {
    const std::lock_guard guard{lines_->mutex};
    auto found = lines_->errors;
    std::erase_if(found, [&](const std::string& line) { return line.find(path) == std::string::npos; });
    return found;
  }

 private:
  struct state {
    std::mutex mutex;
    std::vector<std::string> errors;
  };
  std::shared_ptr<state> lines_ = std::make_shared<state>();  // a line may still be under way at the end
};

}  // namespace latchkey::testing
