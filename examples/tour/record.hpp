// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything that has happened, for those who wait for it and for the checks at the end.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include "event.hpp"
#include "timeline.hpp"

namespace tour {

/// The events in the order of their arrival. Passes each on to the timeline. Thread-safe.
class record {
 public:
  explicit record(timeline& shown) : timeline_{shown} {}

  void add(event what);

  /// Waits until `done(events)`. @returns whether that is so; false when the time is over or `stop` was requested.
  template <class Predicate>
  bool wait_until(const std::stop_token& stop, std::chrono::milliseconds timeout, Predicate done) {
    std::unique_lock lock{mutex_};
    return added_.wait_for(lock, stop, timeout, [&] { return done(std::as_const(events_)); });
  }

  std::vector<event> events() const;

 private:
  timeline& timeline_;
  mutable std::mutex mutex_;
  std::condition_variable_any added_;
  std::vector<event> events_;
};

}  // namespace tour
