// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How many calls of a client wait, and which have waited long.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bridge/monitor.hpp"

namespace latchkey::detail {

/// Calls that wait for the same lock object. Looked at with the monitor held.
class waiting_line {
 public:
  /// A round is over. @param now its number. @returns whether a request is sent because a call has waited long.
  virtual bool on_round(std::uint32_t now) = 0;

 protected:
  ~waiting_line() = default;
};

/// Counts the calls that wait, and rounds of a quarter of `long_wait`, so that a call need not read a clock when it
/// begins: it notes the round. With the monitor held.
class waiting_calls {
 public:
  /// @param long_wait how long a call waits before that is worth a line; zero: no rounds
  waiting_calls(monitor& own, duration long_wait) : own_{own}, round_time_{long_wait / rounds} {}

  /// It is told of rounds for as long as it lives.
  void add(const std::shared_ptr<waiting_line>& line);

  void one_more() {
    ++count_;
    if (!timer_) run();
  }
  void one_less() noexcept { --count_; }
  /// No more rounds.
  void stop() { own_.cancel(timer_); }
  std::size_t count() const noexcept { return count_; }

  std::uint32_t round() const noexcept { return round_; }
  /// @returns whether a call that began in round `since` has waited long.
  bool is_long(std::uint32_t since) const noexcept { return round_ - since > rounds; }
  /// @returns how long such a call has waited at least.
  duration waited(std::uint32_t since) const noexcept { return round_time_ * (round_ - since - 1); }

 private:
  static constexpr std::uint32_t rounds = 4;
  static constexpr int most_requests = 64;  // of a round: what proves a lease is not to stand behind thousands

  void run();
  void forget_gone();

  monitor& own_;
  const duration round_time_;
  std::vector<std::weak_ptr<waiting_line>> lines_;  // which keep the memory of those that have gone
  std::size_t enough_ = 0;                          // of them to look for such ones
  std::size_t count_ = 0;
  std::uint32_t round_ = 0;
  timer_id timer_;
};

}  // namespace latchkey::detail
