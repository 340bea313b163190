// SPDX-License-Identifier: Apache-2.0
#pragma once

/// By how much one grant outlived the beginning of the next: measured in this process, on one clock.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <latchkey/grant.hpp>

#include "support/support.hpp"

namespace latchkey::testing {

/// How often each fault is repeated; LATCHKEY_REPETITIONS asks for more.
inline int repetitions() {
  const auto* const wanted = std::getenv("LATCHKEY_REPETITIONS");
  return wanted != nullptr ? std::atoi(wanted) : 2;
}

/// Looks at a grant again and again, and remembers when it was last seen to be held.
class watchman {
 public:
  /// @param pause  between two looks: for several at a time
  explicit watchman(grant held, std::chrono::microseconds pause = {})
      : grant_{std::move(held)}, pause_{pause}, thread_{[this] { look(); }} {}
  ~watchman() {
    stop_ = true;
    thread_.join();
  }

  boottime_clock::time_point last_held() const { return last_held_; }
  bool seen_lost() const { return seen_lost_; }

 private:
  void look() {
    while (!stop_) {
      const auto now = boottime_clock::now();
      if (grant_) {
        if (seen_lost_) ++revived_;
        last_held_ = now;
      } else {
        seen_lost_ = true;
      }
      std::this_thread::sleep_for(pause_);
      std::this_thread::yield();
    }
    CHECK(revived_ == 0);
  }

  grant grant_;
  const std::chrono::microseconds pause_;
  std::atomic<boottime_clock::time_point> last_held_{boottime_clock::time_point{}};
  std::atomic<bool> seen_lost_{false};
  std::atomic<bool> stop_{false};
  int revived_ = 0;
  std::thread thread_;
};

/// Lets a time pass that is different each time, so that the fault meets the proofs in every phase.
inline void hold_for_a_while(std::chrono::milliseconds session_timeout) {
  static std::minstd_rand random{std::random_device{}()};
  const auto until = boottime_clock::now() + session_timeout * std::uniform_int_distribution{0, 100}(random) / 100;
  while (boottime_clock::now() < until) pause();
}

struct roles {
  std::size_t leader = 0;
  std::vector<std::size_t> followers;
};

/// @returns who leads and who follows, as soon as all three serve.
inline roles everybody_serves(ensemble& all = servers()) {
  roles now;
  REQUIRE(eventually([&] {
    const auto leader = all.leader();
    now = {leader.value_or(0), all.followers()};
    return leader && now.followers.size() == 2 && std::ranges::count(now.followers, now.leader) == 0;
  }));
  return now;
}

/// What came of one fault.
struct round {
  std::chrono::nanoseconds overlap;  ///< by how much the old grant outlived the beginning of the new one
  bool met_a_holder;  ///< a machine that stalls for T/6 costs a grant before the fault comes; no overlap then either
};

struct worst {
  std::chrono::nanoseconds overlap = std::chrono::nanoseconds::min();
  int rounds = 0;
  int met = 0;
  int overlapped = 0;

  void add(std::optional<round> maybe) {
    if (!maybe) return;
    const auto& one = *maybe;
    overlap = std::max(overlap, one.overlap);
    ++rounds;
    if (one.met_a_holder) ++met;
    if (one.overlap.count() > 0) ++overlapped;
    if (std::getenv("LATCHKEY_REPETITIONS") == nullptr) return;
    std::printf("    %.1f ms%s\n", -std::chrono::duration<double, std::milli>{one.overlap}.count(),
                one.met_a_holder ? "" : " (lost before)");
  }
  void add(const worst& more) {
    overlap = std::max(overlap, more.overlap);
    rounds += more.rounds;
    met += more.met;
    overlapped += more.overlapped;
  }
  bool nobody_met() const { return rounds > 0 && met == 0; }
  void report(const char* what) const {
    std::printf("    %s: the loss came %.1f ms before the next grant, at least; %d of %d faults met a holder", what,
                -std::chrono::duration<double, std::milli>{overlap}.count(), met, rounds);
    std::printf(overlapped == 0 ? "\n" : "; %d overlapped\n", overlapped);
    CHECK(overlap.count() <= 0);
    // Under a sanitizer a session of a second seldom lasts until the fault; what is found counts all the same.
    if (slowed_down()) {
      WARN(met > 0);
    } else {
      CHECK(met > 0);
    }
  }
};

/// Repeats `attack`, which gets the number of the round and returns what came of it, if anything. On a busy machine leases
/// may end before the fault: such a round says nothing, so more follow until one has met a holder, up to `most_rounds`.
template <std::invocable<int> Attack>
worst in_rounds(Attack attack, int rounds = repetitions()) {
  constexpr int most_rounds = 10;
  worst all;
  for (int i = 0; i < rounds || (all.nobody_met() && i < most_rounds); ++i) all.add(attack(i));
  return all;
}

}  // namespace latchkey::testing
