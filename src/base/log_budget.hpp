// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How many lines of one kind are logged. Pure.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/deadline.hpp"

namespace latchkey::detail {

/// A server that ends each connection would fill the log: some lines come at once, further ones each after a pause (a token
/// bucket).
class log_budget {
 public:
  static constexpr unsigned most_at_once = 5;
  static constexpr duration pause = std::chrono::seconds{10};

  /// There would be a line. @returns how many were left out before it, as a field of the line: an empty text if none was;
  /// nothing if it is to be left out, too.
  std::optional<std::string> spend(time_point now) {
    full_at_ = std::max(full_at_, now);
    if (full_at_ - now > (most_at_once - 1) * pause) {
      ++left_out_;
      return std::nullopt;
    }
    full_at_ += pause;
    const auto left_out = std::exchange(left_out_, 0);
    return left_out != 0 ? std::to_string(left_out) : std::string{};
  }

 private:
  time_point full_at_{};  // when as many as ever may come at once
  std::uint64_t left_out_ = 0;
};

}  // namespace latchkey::detail
