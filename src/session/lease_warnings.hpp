// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What is due a certain time before a lease ends. Pure: the time is an argument.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/deadline.hpp"

namespace latchkey::detail {

/// Names a warning for `remove`. A default-constructed one names none.
struct warning_id {
  duration before{};
  std::uint64_t number = 0;

  friend auto operator<=>(const warning_id&, const warning_id&) = default;
};

/// The warnings of one session.
class lease_warnings {
 public:
  /// @param before the end of the lease
  /// @param earliest not before then: a proof is on its way
  warning_id add(duration before, time_point earliest, std::function<void()> what) {
    const warning_id id{before, ++last_};
    waiting_.emplace(id, warning{earliest, std::move(what)});
    return id;
  }

  /// Nothing happens when it has been taken already.
  void remove(const warning_id& id) { waiting_.erase(id); }

  /// @returns the longest time before the end; zero when there is none.
  duration longest() const noexcept { return waiting_.empty() ? duration::zero() : waiting_.begin()->first.before; }

  /// @returns when the first is due.
  time_point next(time_point valid_until, time_point now) const {
    auto first = never;
    for (const auto& [id, each] : waiting_) first = std::min(first, due(id, each, valid_until, now));
    return first;
  }

  /// @returns one that is due, taken out; an empty one when there is none.
  std::function<void()> take_due(time_point valid_until, time_point now) {
    const auto at = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& each) {
      return due(each.first, each.second, valid_until, now) <= now;
    });
    return at == waiting_.end() ? nullptr : std::move(waiting_.extract(at).mapped().what);
  }

 private:
  struct warning {
    time_point earliest;
    std::function<void()> what;
  };

  static time_point due(const warning_id& id, const warning& which, time_point valid_until, time_point now) {
    return std::max(which.earliest, std::max(valid_until, now) - id.before);
  }

  std::map<warning_id, warning, std::greater<>> waiting_;  // the longest first
  std::uint64_t last_ = 0;
};

}  // namespace latchkey::detail
