// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Callbacks in the order of their times. Pure: the time is an argument.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/deadline.hpp"

namespace latchkey::detail {

/// Names a timer for `cancel`. A default-constructed one names none.
struct timer_id {
  time_point time = never;
  std::uint64_t number = 0;

  explicit operator bool() const noexcept { return number != 0; }
  friend auto operator<=>(const timer_id&, const timer_id&) = default;
};

/// Timers of one monitor. Timers of the same time run in the order they were made.
class timer_queue {
 public:
  using callback = std::function<void()>;

  /// A timer for `never` is none.
  timer_id add(time_point time, callback what) {
    if (time == never) return {};
    const timer_id id{time, ++last_};
    timers_.emplace(id, std::move(what));
    return id;
  }

  /// Nothing happens when it has run already; `id` names none afterwards.
  void cancel(timer_id& id) {
    if (id) timers_.erase(std::exchange(id, {}));
  }

  /// @returns the first callback due at `now`, taken out of the queue; an empty one when there is none.
  callback take_due(time_point now) {
    if (timers_.empty() || timers_.begin()->first.time > now) return {};
    auto what = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    return what;
  }

  std::optional<time_point> next() const {
    if (timers_.empty()) return std::nullopt;
    return timers_.begin()->first.time;
  }

  std::size_t size() const noexcept { return timers_.size(); }

 private:
  std::map<timer_id, callback> timers_;
  std::uint64_t last_ = 0;
};

}  // namespace latchkey::detail
