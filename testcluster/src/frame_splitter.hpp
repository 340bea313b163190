// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts a stream of bytes into ZooKeeper's frames.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "jute.hpp"

namespace latchkey::testing::detail {

class frame_splitter {
 public:
  void append(std::string_view bytes) { rest_.append(bytes); }

  /// @returns the next whole frame, with its length in front; nothing if it is not complete. A stream that is not
  /// made of frames (a four-letter word) comes as it is.
  std::optional<std::string> next() {
    if (rest_.empty()) return std::nullopt;
    if (opaque_) return std::exchange(rest_, {});
    if (rest_.size() < prefix) return std::nullopt;
    const auto length = load_big_endian<std::int32_t>(rest_);
    opaque_ = length < 0 || length > largest;
    if (opaque_) return std::exchange(rest_, {});
    const auto size = prefix + static_cast<std::size_t>(length);
    if (rest_.size() < size) return std::nullopt;
    auto frame = rest_.substr(0, size);
    rest_.erase(0, size);
    return frame;
  }
  [[nodiscard]] bool opaque() const noexcept { return opaque_; }
  /// The other direction has turned out to be none of ours.
  void give_up() noexcept { opaque_ = true; }

  static constexpr std::size_t prefix = sizeof(std::int32_t);

 private:
  static constexpr std::int32_t largest = 64 * 1024 * 1024;
  std::string rest_;
  bool opaque_ = false;
};

}  // namespace latchkey::testing::detail
