// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a nemesis decides by.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>

namespace chaos {

class dice {
 public:
  explicit dice(std::uint64_t seed) : random_{seed} {}

  /// @returns one of 0 to count - 1.
  std::size_t one_of(std::size_t count) { return std::uniform_int_distribution<std::size_t>{0, count - 1}(random_); }

  std::chrono::milliseconds between(std::chrono::milliseconds least, std::chrono::milliseconds most) {
    return std::chrono::milliseconds{std::uniform_int_distribution<std::int64_t>{least.count(), most.count()}(random_)};
  }

  /// @returns a time that is short, or long, or about a session timeout.
  std::chrono::milliseconds some_time(std::chrono::milliseconds session_timeout) {
    using std::chrono::milliseconds;
    switch (one_of(3)) {
      case 0:
        return between(milliseconds{50}, milliseconds{500});
      case 1:
        return between(milliseconds{500}, milliseconds{2'000});
      default:
        return between(session_timeout * 4 / 5, session_timeout * 9 / 5);
    }
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace chaos
