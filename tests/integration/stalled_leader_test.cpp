// SPDX-License-Identifier: Apache-2.0
/// Attacks on the lease: the leader stalls, as a whole or only the thread that pings, and a follower is cut off right
/// before the late ping comes. How much is left between the end of a grant and the next is printed in units of T.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/disputed_lock.hpp"

namespace latchkey::testing {
namespace {

enum class stalling {
  ping_thread,      ///< the follower is cut off before the thread goes on
  process,          ///< likewise
  process_to_ping,  ///< the follower is cut off when it has heard of the leader again
};

/// Some locks that are held through one follower.
class stalled_leader {
 public:
  explicit stalled_leader(const client_options& how) : timeout_{how.session_timeout} {
    ping_at(worst_moment(clock::now() + tick_) - drift_, half_tick_);
    for (int i = 0; i < 8; ++i) {
      hold_for_a_while(timeout_ / 8);  // syncs are that far apart: each lock has a phase of its own
      locks_.push_back(std::make_unique<disputed_lock>(servers().connect_string(follower_), leader_, how, 100us));
      locks_.back()->lock();
    }
    for (auto& each : locks_) each->is_waited_for();
    for (int proofs = 0; proofs < 2; ++proofs) {
      for (auto& each : locks_) each->extended(each->before.valid_until());
    }
  }
  ~stalled_leader() {
    servers().resume_pings(leader_);
    servers().resume(leader_);
    servers().heal();
    servers().wait_until_serving(follower_, patience());
  }

  worst attack(stalling what, std::chrono::nanoseconds late) {
    const auto ping = worst_moment(clock::now() + tick_);
    ping_at(ping, half_tick_ / 2);
    const auto due = ping + half_tick_;
    if (what == stalling::ping_thread) {
      await(due - half_tick_ / 2);
      servers().pause_pings(leader_);
    } else {
      await(due - 10ms);
      servers().pause(leader_);
    }
    await(due + late);
    if (what != stalling::process_to_ping) servers().isolate(follower_);
    servers().resume_pings(leader_);
    servers().resume(leader_);
    if (what == stalling::process_to_ping) {
      REQUIRE(eventually([&] { return last_packet() > due + late; }));
      servers().isolate(follower_);
    }
    worst all;
    std::vector<bool> met;
    for (const auto& each : locks_) met.push_back(bool{each->before});
    for (std::size_t i = 0; i < locks_.size(); ++i) all.add(locks_[i]->finish(met[i]));
    return all;
  }

 private:
  using clock = std::chrono::steady_clock;  // by which the servers expire sessions, at whole ticks

  static void await(clock::time_point time) {
    while (clock::now() < time) pause();
  }

  /// @returns the next moment after which the leader ends a session soonest: right at the end of its timeout.
  clock::time_point worst_moment(clock::time_point from) const {
    constexpr auto early = 8ms;  // to be heard of before that tick
    return from + (tick_ - (from.time_since_epoch() + timeout_ + early) % tick_);
  }

  /// Lets the leader send the ping then that is due in the time before; the others follow half a tick apart.
  void ping_at(clock::time_point moment, std::chrono::nanoseconds before) {
    await(moment - before);
    servers().pause_pings(leader_);
    await(moment);
    servers().resume_pings(leader_);
    REQUIRE(eventually([&] { return last_packet() > moment; }));
  }
  clock::time_point last_packet() const { return servers().last_passed(follower_, direction::incoming); }

  const std::chrono::milliseconds timeout_;
  const std::chrono::nanoseconds tick_ = servers().options().tick;
  const std::chrono::nanoseconds half_tick_ = tick_ / 2;
  const std::chrono::nanoseconds drift_ = tick_ / 16;  // pings come a bit later each time
  const roles now_ = everybody_serves();
  const std::size_t leader_ = now_.leader;
  const std::size_t follower_ = now_.followers.front();
  std::vector<std::unique_ptr<disputed_lock>> locks_;
};

/// @returns how much is left between the end of a grant and the next, at least: in units of T.
double margin(int ticks, bool tick_is_known, stalling what, double ticks_late, int rounds = 1) {
  const auto tick = servers().options().tick;
  const auto late = std::chrono::duration_cast<std::chrono::nanoseconds>(ticks_late * tick);
  auto how = quick(ticks * tick);
  if (tick_is_known) how.server_tick = tick;
  const auto all = in_rounds([&](int) { return stalled_leader{how}.attack(what, late); }, rounds);
  const auto left = std::chrono::duration<double>{-all.overlap} / (ticks * tick);
  std::printf("    T = %d ticks%s, late by %.2f ticks: %+.3f T left at least; %d of %d met a holder\n", ticks,
              tick_is_known ? " (server_tick)" : "", ticks_late, left, all.met, all.rounds);
  CHECK(all.met > 0);
  return left;
}

}  // namespace

TEST_SUITE("stalled leader") {
  TEST_CASE("a leader's ping thread stalls, and T is two ticks") {
    CHECK(margin(2, true, stalling::ping_thread, 0.5) > 0);
  }

  TEST_CASE("a leader's ping thread stalls, and T is five ticks") {
    CHECK(margin(5, true, stalling::ping_thread, 1.0) > 0);
  }

  TEST_CASE("a leader's whole process stalls") {
    CHECK(margin(2, true, stalling::process, 0.5) > 0);
    CHECK(margin(2, true, stalling::process_to_ping, 0.5) > 0);
  }

  // For stalled_leader.sh: some of it is more than a lease bears.
  TEST_CASE("how late a leader's pings may be" * doctest::skip(std::getenv("LATCHKEY_STALLS") == nullptr)) {
    const int rounds = std::atoi(std::getenv("LATCHKEY_STALLS"));
    const double tick = std::chrono::duration<double>{servers().options().tick}.count();
    auto table = fmt::format("| ping late by | T = {} s | with server_tick | T = {} s | with server_tick |\n", 2 * tick,
                             5 * tick);
    table += "|---|---|---|---|---|\n";
    for (const auto late : {0.15, 0.3, 0.5, 0.9, 1.5}) {
      table += fmt::format("| {:.2g} s |", late * tick);
      for (const int ticks : {2, 5}) {
        for (const bool known : {false, true}) {
          const bool is_over = 0.5 + late >= ticks;  // nothing is left of T
          table +=
              is_over ? " |" : fmt::format(" {:+.3f} |", margin(ticks, known, stalling::ping_thread, late, rounds));
          std::fflush(stdout);
        }
      }
      table += "\n";
    }
    std::puts(table.c_str());
  }
}

}  // namespace latchkey::testing
