// SPDX-License-Identifier: Apache-2.0
#include "session/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <latchkey/error.hpp>

namespace latchkey {

std::chrono::nanoseconds duration_histogram::quantile(double q) const noexcept {
  if (count == 0) return {};
  const auto wanted = std::max<double>(1, std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count)));
  std::uint64_t below = 0;
  std::size_t bucket = 0;
  for (; bucket + 1 < buckets.size(); ++bucket) {
    below += buckets[bucket];
    if (static_cast<double>(below) >= wanted) break;
  }
  if (bucket + 1 == buckets.size()) return std::chrono::nanoseconds::max();
  return std::chrono::microseconds{std::int64_t{1} << bucket};
}

namespace detail {
namespace {

using namespace std::chrono_literals;

constexpr duration length_of_period = 60s;
constexpr std::size_t longest_name = 128;

}  // namespace

lock_counts& metrics::group(const std::string& name) {
  const auto is_printable = [](unsigned char c) { return c >= ' ' && c < 0x7f; };
  if (name.size() > longest_name || !std::all_of(name.begin(), name.end(), is_printable)) {
    throw error{errc::bad_option, "the option group must be at most 128 printable characters of ASCII"};
  }
  return groups_[name];
}

duration_histogram durations::snapshot() const noexcept {
  return {buckets_, std::accumulate(buckets_.begin(), buckets_.end(), std::uint64_t{0}), sum_};
}

lock_metrics lock_counts::snapshot(std::string group) const {
  lock_metrics result;
  result.group = std::move(group);
  result.wait = wait.snapshot();
  result.hold = hold.snapshot();
  result.lost = lost;
  result.granted = result.wait.count + downgrades;
  result.granted_at_once = at_once;
  result.turns = turns + downgrades;
  result.lingered = lingered;
  result.released = result.hold.count - std::accumulate(lost.begin(), lost.end(), std::uint64_t{0});
  result.refused = refused;
  result.timed_out = timed_out;
  result.cancelled = cancelled;
  result.failed = failed;
  result.asked_to_release = asked_to_release;
  result.abandoned = abandoned;
  result.waiting = calls - places - result.wait.count - refused - timed_out - cancelled - failed;
  result.held = result.granted - result.hold.count;
  return result;
}

void metrics::lease_extended(duration left, time_point now) {
  if (now >= present_.end) {
    before_ = present_;
    present_ = {deadline_after(now, length_of_period), duration::max()};
  }
  present_.least = std::min(present_.least, left);
}

client_metrics metrics::snapshot(time_point now) const {
  auto result = client;
  result.request = request.snapshot();
  result.proof = proof.snapshot();
  result.proofs = result.proof.count;
  for (const auto& [name, each] : groups_) result.locks.push_back(each.snapshot(name));
  for (const auto& each : {before_, present_}) {
    if (now - length_of_period >= each.end || each.least == duration::max()) continue;
    result.least_left = std::min(result.least_left.value_or(each.least), each.least);
  }
  return result;
}

}  // namespace detail
}  // namespace latchkey
