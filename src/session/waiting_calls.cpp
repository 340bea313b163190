// SPDX-License-Identifier: Apache-2.0
#include "session/waiting_calls.hpp"

namespace latchkey::detail {

/// The timer is left to run when no call waits any more: it is set once in a while, not once a call.
void waiting_calls::run() {
  if (round_time_ <= duration::zero()) return;
  timer_ = own_.in(round_time_, [this] {
    timer_ = {};
    ++round_;
    std::erase_if(lines_, [](const auto& each) { return each.expired(); });
    if (count_ == 0) return;
    for (const auto& each : lines_) {
      if (const auto line = each.lock()) line->on_round(round_);
    }
    run();
  });
}

}  // namespace latchkey::detail
