// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A caller whose ownership is measured.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stop_token>
#include <thread>

#include <doctest/doctest.h>
#include <latchkey/grant.hpp>

#include "support/support.hpp"

namespace latchkey::testing {

/// Takes a lock on a thread of its own, looks at its grant without a pause until it is told to leave, then unlocks.
class visitor {
 public:
  using time_point = boottime_clock::time_point;

  template <class Lock>
  explicit visitor(Lock& lock) {
    thread_.start([this, &lock] { visit(lock); });
  }
  ~visitor() {
    give_up();
    thread_.wait();
  }

  bool granted() const { return granted_; }
  bool lost() const { return lost_; }
  void leave() { leaving_ = true; }
  /// Waits until it has unlocked; one that still waits for the lock gives up.
  void gone() {
    give_up();
    thread_.join();
  }

  /// @returns for how long both saw that they hold the lock at the same time; not above zero: never.
  friend std::chrono::nanoseconds overlap(const visitor& one, const visitor& another) {
    if (!one.has_held() || !another.has_held()) return std::chrono::nanoseconds::min();
    return std::min(one.last_held_.load(), another.last_held_.load()) - std::max(one.begin_, another.begin_);
  }

 private:
  void give_up() {
    leave();
    if (!granted()) stop_.request_stop();
  }
  bool has_held() const { return granted_ && last_held_.load() != time_point::min(); }

  template <class Lock>
  void visit(Lock& lock) {
    if (!lock.lock(stop_.get_token())) return;
    const auto held = lock.held();
    begin_ = boottime_clock::now();
    last_held_ = time_point::min();
    for (bool first = true; first || !leaving_; first = false) {
      const auto now = boottime_clock::now();
      held ? void(last_held_ = now) : void(lost_ = true);
      granted_ = true;
      std::this_thread::yield();
    }
    lock.unlock();
  }

  time_point begin_{};
  std::atomic<time_point> last_held_{time_point{}};
  std::atomic<bool> granted_{false};
  std::atomic<bool> lost_{false};
  std::atomic<bool> leaving_{false};
  std::stop_source stop_;
  on_threads thread_;
};

/// Prints and returns an overlap.
inline std::chrono::nanoseconds told(const char* what, std::chrono::nanoseconds overlap) {
  if (overlap.count() <= 0) {
    std::printf("    %s: no overlap\n", what);
  } else {
    std::printf("    %s: overlap of %.1f ms\n", what, std::chrono::duration<double, std::milli>{overlap}.count());
  }
  return overlap;
}

/// Long for a round trip and for a machine that is busy, short for a lease.
inline std::chrono::milliseconds prompt() { return patience() / 15; }

}  // namespace latchkey::testing
