// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Virtual time: events in their order, and the timers of the system under test.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "simulation/random_source.hpp"

namespace latchkey::testing {

/// The timers of one client: when the first is due, and how to run those that are due at the simulation's `now()`.
struct timer_source {
  std::function<std::optional<time_point>()> next;
  std::function<void()> run_due;
};

/// Names a process of the system under test: its timers, and what is delivered to it, stand still while it is paused.
enum class process_id : std::size_t { none = 0 };

/// Runs everything on the calling thread, one event after another. Time moves only between events; the clock of a process
/// that is paused within one shows when it runs again.
/// Events of the same time run in the order they were made; between an event and a timer of the same time the seed
/// decides.
class simulation {
 public:
  using action = std::function<void()>;

  explicit simulation(std::uint64_t seed, time_point begin = time_point{std::chrono::hours{1}});
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  time_point now() const noexcept { return now_; }
  random_source& random() noexcept { return random_; }
  std::uint64_t seed() const noexcept { return seed_; }

  /// A capture of up to two pointers costs no allocation.
  void at(time_point time, action what);
  void after(duration time, action what) { at(now_ + time, std::move(what)); }

  process_id attach(timer_source source);
  void detach(process_id process);

  /// Stops a process (SIGSTOP): no timer of it runs and nothing is delivered to it before `until`.
  void pause(process_id process, time_point until);
  /// @returns when `process` runs again: `now()` when it is not paused.
  time_point resumes_at(process_id process) const noexcept;
  /// @returns the end of its last pause, past or to come.
  time_point resumed_at(process_id process) const noexcept {
    return processes_[static_cast<std::size_t>(process)].paused_until;
  }

  /// @returns the time of the next event or timer.
  std::optional<time_point> next_time() const;

  /// Runs the next event or timer. @returns false when there is none.
  bool step();

  /// Runs all that happens until `end`; then it is `end`.
  void run_until(time_point end);
  void run_for(duration time) { run_until(now_ + time); }

  /// Runs until `done()`, at most until `end`. @returns whether it is done.
  template <class Predicate>
  bool run_until(Predicate done, time_point end) {
    while (!done()) {
      const auto next = next_time();
      if (!next || *next > end) return false;
      step();
    }
    return true;
  }

  std::uint64_t steps() const noexcept { return steps_; }

 private:
  struct event {
    time_point time;
    std::uint64_t number;
    std::uint32_t slot;
  };
  struct attached {
    timer_source source;
    time_point paused_until{};
  };
  struct due_timer {
    time_point time;
    std::size_t process;
  };

  static bool later(const event& a, const event& b) noexcept {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }
  due_timer first_timer() const;
  void run_event();
  void advance(time_point time);

  const std::uint64_t seed_;
  random_source random_;
  time_point now_;
  std::uint64_t made_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_at_this_time_ = 0;
  std::vector<event> heap_;
  std::vector<action> slots_;  // so that the heap moves small things only
  std::vector<std::uint32_t> free_slots_;
  std::vector<attached> processes_;
};

}  // namespace latchkey::testing
