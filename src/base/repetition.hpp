// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How often one request is sent again, and when. Pure.

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/deadline.hpp"

namespace latchkey::detail {

/// Counts the times that one request has come to nothing, for a reason that may pass: a path that another client has
/// deleted meanwhile, say. The second attempt comes at once, each later one after a pause twice as long as the one
/// before. After the last one, some three seconds later, the caller is told what that failed with.
class repetition {
 public:
  static constexpr unsigned most_attempts = 10;
  static constexpr duration first_pause = std::chrono::milliseconds{10};
  static constexpr duration longest_pause = first_pause * (1 << (most_attempts - 3));

  /// An attempt has failed. @returns the pause before the next one; nothing if there is to be none.
  std::optional<duration> next() noexcept {
    failed_ = std::min(failed_ + 1, most_attempts);
    if (failed_ == most_attempts) return std::nullopt;
    return failed_ == 1 ? duration::zero() : first_pause * (1 << (failed_ - 2));
  }
  /// It has been answered, whatever the answer.
  void end() noexcept { failed_ = 0; }

  bool begun() const noexcept { return failed_ != 0; }

 private:
  unsigned failed_ = 0;
};

}  // namespace latchkey::detail
