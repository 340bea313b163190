// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How many calls of a client wait, and which have waited long.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bridge/monitor.hpp"

namespace latchkey::detail {

/// The calls that wait for one lock object.
class long_wait_source {
 public:
  /// A round is over. @returns whether a request is sent because a call has waited long.
  virtual bool on_round(time_point now) = 0;

 protected:
  ~long_wait_source() = default;
};

/// Counts the calls that wait, and looks four times in `long_wait` for those that have waited so long.
class waiting_calls {
 public:
  /// @param long_wait how long a call waits before that is worth a line; zero: no rounds
  waiting_calls(monitor& own, duration long_wait) : own_{own}, long_wait_{long_wait} {}

  /// It is told of rounds for as long as it lives. Without rounds only a debugger finds it here.
  void add(const std::shared_ptr<long_wait_source>& line);

  void one_more() {
    ++count_;
    if (!timer_) run();
  }
  void one_less() noexcept { --count_; }
  /// No more rounds.
  void stop() { own_.cancel(timer_); }
  std::size_t count() const noexcept { return count_; }

  /// @returns whether a wait is worth a line.
  bool is_long(duration wait) const noexcept { return long_wait_ > duration::zero() && wait >= long_wait_; }

 private:
  static constexpr int rounds = 4;          // in `long_wait_`
  static constexpr int most_requests = 64;  // of a round: what proves a lease is not to stand behind thousands

  void run();
  void forget_gone();

  monitor& own_;
  const duration long_wait_;
  std::vector<std::weak_ptr<long_wait_source>> lines_;  // which keep the memory of those that have gone
  std::size_t enough_ = 0;                              // of them to look for such ones
  std::size_t count_ = 0;
  timer_id timer_;
};

}  // namespace latchkey::detail
