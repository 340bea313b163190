// SPDX-License-Identifier: Apache-2.0
#include "bridge/monitor.hpp"

#include <system_error>

#include <latchkey/error.hpp>

namespace latchkey::detail {

void monitor::refuse_child() {
  throw error{errc::closed, "the client was made before fork() and does not work in the child; make a new one there"};
}

void monitor::refuse_call_from_inside() {
  throw std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "a log sink called latchkey; pass the line on to another thread, and call it there"};
}

std::optional<time_point> monitor::run_due() {
  while (true) {
    // One at a time: a wake-up does not wait for the timers after it.
    const auto [ran, next] = run([this]() -> std::pair<bool, std::optional<time_point>> {
      stopped_for_ = stopped_for();
      running_since_ = running_since();
      auto due = timers_.take_due(now());
      if (!due) {
        const auto first = timers_.next();
        if (first && on_earlier_) on_earlier_(*first);  // it was not the first when it was made
        return {false, first};
      }
      due();
      return {true, std::nullopt};
    });
    if (!ran) return next;
  }
}

std::optional<time_point> monitor::next_timer() {
  return run([this] { return timers_.next(); });
}

}  // namespace latchkey::detail
