// SPDX-License-Identifier: Apache-2.0
#include "session/outage.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace latchkey::detail {
namespace {

/// However short the patience is.
constexpr duration soonest = std::chrono::seconds{1};

}  // namespace

outage::outage(monitor& own, std::string servers, duration patience, std::function<void(duration)> report)
    : own_{own}, servers_{std::move(servers)}, patience_{std::max(patience, soonest)}, report_{std::move(report)} {}

void outage::begin(time_point since, duration tolerated) {
  if (since_ != never) return;
  since_ = since;
  tolerated_ = tolerated;
  report_at(deadline_after(counted_from(), patience_));
}

std::optional<duration> outage::end() {
  own_.cancel(timer_);
  const auto so_long = lasted();
  since_ = never;
  if (!std::exchange(reported_, false)) return std::nullopt;
  return so_long;
}

std::optional<duration> outage::lasted() const {
  if (since_ == never) return std::nullopt;
  return own_.now() - counted_from();
}

void outage::report_at(time_point time) {
  timer_ = own_.at(time, [this] {
    timer_ = {};
    const auto lasted = own_.now() - counted_from();
    if (lasted < patience_) return report_at(deadline_after(counted_from(), patience_));  // this process was stopped
    reported_ = true;
    report_(lasted);
    report_at(own_.now() + std::min(lasted, longest_silence));
  });
}

std::string outage::text(duration lasted) const {
  const std::chrono::duration<double> seconds = lasted;
  return fmt::format("no server of {} has answered for {:.{}f} s", servers_, seconds.count(),
                     seconds.count() < 10 ? 1 : 0);
}

}  // namespace latchkey::detail
