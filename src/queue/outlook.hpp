// SPDX-License-Identifier: Apache-2.0
#pragma once

/// When a waiter looks ahead. Pure.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/deadline.hpp"

namespace latchkey::detail {

/// How long one entry takes to go once it is at the head of a queue, as one lock object has seen it lately.
class pace {
 public:
  bool known() const noexcept { return mean_ != duration::zero(); }
  duration mean() const noexcept { return mean_; }
  /// @param halves twice the number of entries that have gone within `time`
  void learn(duration time, std::uint32_t halves) noexcept {
    const auto one = std::max(2 * time / halves, duration{1});
    mean_ = known() ? (3 * mean_ + one) / 4 : one;
  }

 private:
  duration mean_{};
};

/// What a waiter knows of those ahead, and when it looks ahead: with a list, without a watch, at the moment when its
/// predecessor is probably the head. If that shows no one else ahead, then the deletion of the predecessor lets it in
/// without a list: names ahead only ever disappear, and the answer comes before the event of a deletion that it does not
/// show.
class outlook {
 public:
  static constexpr std::uint8_t most_looks = 4;  ///< of one wait

  std::uint32_t ahead() const noexcept { return ahead_; }

  /// A list has shown so many ahead.
  /// @param queue learns from it; may be null
  void listed(std::uint32_t ahead, time_point now, pace* queue) noexcept {
    // On average the head was half done when the wait began.
    if (queue && ahead < ahead_) queue->learn(now - since_, 2 * (ahead_ - ahead) - (ahead == 0 ? 1 : 0));
    if (ahead == ahead_) return;
    ahead_ = ahead;
    since_ = now;
  }

  /// @param round_trip of a request. @returns after how long to look; nothing: not worth it.
  std::optional<duration> look_in(const pace& queue, time_point now, duration round_trip) const noexcept {
    const bool hopeless = !queue.known() && ahead_ > most_unknown;
    if (ahead_ < 2 || looks_ == most_looks || hopeless) return std::nullopt;
    const auto waited = now - since_;
    duration at = first_look;
    if (queue.known()) {
      at = (ahead_ - 1) * queue.mean() - round_trip;
      if (looks_ == 0 && ahead_ > near) {
        const auto early = (ahead_ - learning) * queue.mean();
        if (early > first_look) at = early;  // for less it does not pay
      }
    }
    return std::max(at - waited, waited / 2);  // the longer it waits the less it hurries
  }
  void looked() noexcept { ++looks_; }

 private:
  static constexpr duration first_look = std::chrono::milliseconds{10};  ///< while no pace is known
  static constexpr std::uint32_t most_unknown = 8;                       ///< so many ahead, then
  static constexpr std::uint32_t near = 4;
  static constexpr std::uint32_t learning = 3;  ///< so many are left when one who was far learns the pace of now

  std::uint32_t ahead_ = 0;
  std::uint8_t looks_ = 0;
  time_point since_;
};

}  // namespace latchkey::detail
