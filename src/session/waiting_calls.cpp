// SPDX-License-Identifier: Apache-2.0
#include "session/waiting_calls.hpp"

namespace latchkey::detail {

void waiting_calls::add(const std::shared_ptr<long_wait_source>& line) {
  if (lines_.size() >= enough_) {
    forget_gone();
    enough_ = 2 * lines_.size() + 64;
  }
  lines_.push_back(line);
}

void waiting_calls::forget_gone() {
  std::erase_if(lines_, [](const auto& each) { return each.expired(); });
}

/// The timer is left to run when no call waits any more: it is set once in a while, not once a call.
void waiting_calls::run() {
  if (long_wait_ <= duration::zero()) return;
  timer_ = own_.in(long_wait_ / rounds, [this] {
    timer_ = {};
    const auto now = own_.now();
    forget_gone();
    if (count_ == 0) return;
    int requests = 0;
    for (const auto& each : lines_) {
      const auto line = each.lock();
      if (line && line->on_round(now) && ++requests == most_requests) break;  // the others in the next round
    }
    run();
  });
}

}  // namespace latchkey::detail
