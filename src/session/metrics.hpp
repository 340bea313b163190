// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a client counts.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string>

#include <latchkey/metrics.hpp>

#include "base/deadline.hpp"

namespace latchkey::detail {

/// Collects a `duration_histogram`.
class durations {
 public:
  void add(duration one) noexcept {
    const auto us = static_cast<std::uint64_t>(std::max(one, duration::zero()).count()) / 1000;
    ++buckets_[std::min<std::size_t>(std::bit_width(us), buckets_.size() - 1)];
    sum_ += one;
  }
  duration_histogram snapshot() const noexcept;

 private:
  decltype(duration_histogram::buckets) buckets_{};
  duration sum_{};
};

/// What is counted of the locks of one group. A turn takes a quarter of a microsecond: what can be derived from other
/// numbers is not counted.
struct lock_counts {
  std::uint64_t calls = 0;   ///< that have begun to wait
  std::uint64_t places = 0;  ///< of them, those that waited for a place in line and have got it
  std::uint64_t downgrades = 0;
  std::uint64_t at_once = 0, turns = 0, lingered = 0;
  std::uint64_t refused = 0, timed_out = 0, cancelled = 0, failed = 0;
  std::uint64_t asked_to_release = 0, abandoned = 0;
  decltype(lock_metrics::lost) lost{};
  durations wait;  ///< of each call that was granted the lock
  durations hold;  ///< of each grant that has ended

  lock_metrics snapshot(std::string group) const;
};

/// The numbers of a client and its locks.
class metrics {
 public:
  client_metrics client;  ///< but for what `snapshot` fills in
  durations request, proof;

  /// @returns the numbers of that group of locks, which stay where they are.
  /// @throws error bad_option for a name that a dashboard could not show
  lock_counts& group(const std::string& name);

  /// An answer has extended the lease of a grant. @param left of it by then
  void lease_extended(duration left, time_point now);

  client_metrics snapshot(time_point now) const;

 private:
  /// The least of what was left in one period.
  struct period {
    time_point end = time_point::min();
    duration least = duration::max();
  };

  std::map<std::string, lock_counts> groups_;
  period present_, before_;
};

}  // namespace latchkey::detail
