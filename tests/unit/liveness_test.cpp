// SPDX-License-Identifier: Apache-2.0
#include "session/liveness.hpp"

#include <doctest/doctest.h>

#include "queue/grant_phase.hpp"
#include "session/lease.hpp"

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;
constexpr time_point start{1000s};

/// With T = 24 s: one unit of the proof is a second, and the leader pings every 6 s.
struct clock_of_24s {
  liveness_clock clock;

  explicit clock_of_24s(duration server_tick = {}) {
    clock.begin({.timeout = 24s, .server_tick = server_tick}, start - 24h);
    clock.connected(start - 24h);
  }
  void answer(evidence what, duration sent, duration answered) { clock.answered(what, start + sent, start + answered); }
  bool lasts_until(duration time) const { return clock.valid_until() == start + time; }
};

}  // namespace

TEST_SUITE("liveness") {
  using enum evidence;

  TEST_CASE("a request, a sync half a tick and T/24 after its answer, and a write after that make a lease") {
    clock_of_24s w;
    w.answer(heard, 0s, 1s);
    w.answer(relayed, 8s, 9s);
    CHECK(w.clock.valid_until() < start);
    w.answer(committed, 9s, 10s);
    CHECK(w.lasts_until(22s));
  }

  TEST_CASE("a write may stand for each of the three") {
    clock_of_24s w;
    w.answer(committed, 0s, 1s);
    w.answer(committed, 8s, 9s);
    w.answer(committed, 9s, 10s);
    CHECK(w.lasts_until(22s));
  }

  TEST_CASE("a sync that is sent too early after the first answer is worth nothing") {
    clock_of_24s w;
    w.answer(heard, 0s, 1s);
    w.answer(relayed, 8s - 1ms, 9s);
    w.answer(committed, 9s, 10s);
    CHECK(w.clock.valid_until() < start);
  }

  TEST_CASE("a write that was sent before the sync was answered proves nothing new") {
    clock_of_24s w;
    w.answer(heard, 0s, 1s);
    w.answer(relayed, 8s, 9s);
    w.answer(committed, 9s - 1ms, 10s);
    CHECK(w.clock.valid_until() < start);
  }

  TEST_CASE("a read is no substitute for a sync, nor a sync for a write") {
    clock_of_24s w;
    w.answer(heard, 0s, 1s);
    w.answer(heard, 8s, 9s);
    w.answer(committed, 9s, 10s);
    w.answer(relayed, 16s, 17s);
    w.answer(relayed, 17s, 18s);
    CHECK(w.clock.valid_until() < start);
  }

  TEST_CASE("what a server has heard is forgotten with its connection; the next one begins from the newest answer") {
    clock_of_24s w;
    w.answer(heard, 0s, 1s);
    w.answer(relayed, 8s, 9s);
    w.clock.disconnected();
    CHECK_FALSE(w.clock.provable(start + 9s));
    w.clock.connected(start + 10s);
    CHECK(w.clock.provable(start + 10s));
    w.answer(committed, 10s - 1ms, 11s);
    CHECK(w.clock.valid_until() < start);
    w.answer(committed, 10s, 11s);
    CHECK(w.lasts_until(8s + 22s));  // the leader was asked about the session after that
  }

  TEST_CASE("a session that has just been created has a lease at once") {
    liveness_clock clock;
    clock.begin({.timeout = 24s}, start);
    CHECK(clock.valid_until() == start + 22s);
    CHECK(clock.fresh(start + 18s));
    CHECK_FALSE(clock.fresh(start + 19s));
  }

  TEST_CASE("a session with another timeout has none of the leases of before") {
    clock_of_24s w;
    w.answer(heard, 0s, 1s);
    w.answer(relayed, 8s, 9s);
    w.answer(committed, 9s, 10s);
    w.clock.disconnected();
    w.clock.begin_again({.timeout = 12s});
    CHECK(w.clock.valid_until() < start);
    w.clock.connected(start + 11s);
    w.answer(committed, 11s, 12s);
    CHECK(w.lasts_until(9s + 11s));
  }

  TEST_CASE("a client that knows its session timeout to be below four ticks waits longer for a ping, no other less") {
    const auto gap = [](duration tick) { return session_timing{24s, tick}.ping_gap(); };
    const auto tolerance = [](duration tick) { return session_timing{24s, tick}.ping_tolerance(); };
    for (const auto tick : {0s, 1s, 2s, 5s, 6s}) CHECK(gap(tick) == 7s);
    for (const auto tick : {7s, 8s, 12s, 16s, 18s}) CHECK(gap(tick) == 10s);
    CHECK(tolerance(0s) == 1s);  // as with two ticks
    CHECK(tolerance(2400ms) == 5800ms);
    CHECK(tolerance(4800ms) == 4600ms);
    CHECK(tolerance(6s) == 4s);
    CHECK(tolerance(8s) == 6s);
    CHECK(tolerance(12s) == 4s);
    CHECK(tolerance(18s) == 1s);
    clock_of_24s slow{18s};
    slow.answer(heard, 0s, 1s);
    slow.answer(relayed, 8s, 9s);
    slow.answer(committed, 9s, 10s);
    CHECK(slow.clock.valid_until() < start);
    slow.answer(relayed, 11s, 12s);
    slow.answer(committed, 12s, 13s);
    CHECK(slow.lasts_until(22s));
    CHECK(session_timing::shortest(18s) == 24s);
  }

  TEST_CASE("in steady state a holder never has less than a quarter of the session timeout left, whatever the tick") {
    for (const auto tick : {0s, 2s, 6s, 7s, 8s, 12s, 18s}) {
      for (const auto round_trip : {1ms, 100ms, 500ms, 999ms}) {
        CAPTURE(tick.count());
        CAPTURE(round_trip.count());
        clock_of_24s w{tick};
        const auto beat = w.clock.beat_interval(true);
        int proofs = 0;
        for (duration now{}; now < 10min; now += beat) {
          w.answer(relayed, now, now + round_trip);
          const auto then = start + now + round_trip;
          if (now > 24s) CHECK(w.clock.valid_until() > then + 6s);
          if (now > 24s) CHECK(w.clock.fresh(then + round_trip));
          if (!w.clock.wants_proof(then) || !w.clock.provable(then)) continue;
          w.clock.proof_sent(then);
          CHECK_FALSE(w.clock.provable(then));  // another one would say nothing new
          w.answer(committed, now + round_trip, now + 2 * round_trip);
          ++proofs;
        }
        CHECK(proofs <= 10 * 60 / (tick > 6s ? 3 : 6) + 1);  // one every T/8, or T/4
      }
    }
  }

  TEST_CASE(
      "an idle client that sends a sync every T/6 has a lease of a third of its timeout at its first write, or a "
      "quarter") {
    for (const auto tick : {0s, 6s, 8s, 12s, 18s}) {
      clock_of_24s w{tick};
      const auto beat = w.clock.beat_interval(false);
      for (duration now{}; now <= 60s; now += beat) w.answer(relayed, now, now + 10ms);
      for (duration later{1ms * 20}; later < beat; later += 100ms) {
        auto first = w.clock;
        first.answered(committed, start + 60s + later, start + 60s + later + 10ms);
        CHECK(first.fresh(start + 60s + later + 10ms));
        CHECK(first.valid_until() > start + 60s + later + (tick > 6s ? 6s : 8s));
      }
    }
  }

  TEST_CASE("requests in great numbers are remembered as far as they make a difference") {
    clock_of_24s w;
    for (duration now{}; now < 60s; now += 1ms) w.answer(committed, now, now + 1ms);
    // C is as old as the wait for a ping, R and the grain of what is remembered make it.
    CHECK(w.clock.valid_until() > start + 60s - 7s - 500ms + 22s - 500ms);
  }

  TEST_CASE("a client that keeps nothing ready lives by one write for five twelfths, at its own risk") {
    liveness_clock clock;
    clock.begin({.timeout = 24s, .trusts_network = true}, start - 24h);
    clock.connected(start - 24h);
    CHECK(clock.provable(start));
    clock.answered(committed, start, start + 1s);
    CHECK(clock.valid_until() == start + 10s);
    CHECK(clock.fresh(start + 6s));
  }

  TEST_CASE("a lease that has been seen to end is not revived") {
    lease beat;
    CHECK(beat.extend(start + 4s));
    CHECK(beat.alive(start));
    CHECK(beat.alive(start + 4s - 1ns));
    CHECK(beat.extend(start + 5s));
    CHECK(beat.extend(start + 2s));
    CHECK(beat.valid_until() == start + 5s);
    CHECK_FALSE(beat.alive(start + 5s));
    CHECK_FALSE(beat.extend(start + 9s));
    CHECK_FALSE(beat.alive(start));
  }

  TEST_CASE("the reason for which a lease is over does not change") {
    lease one;
    CHECK(one.extend(start + 4s));
    CHECK_FALSE(one.loss(start));
    one.stop(loss_reason::access_revoked);
    CHECK(one.loss(start) == loss_reason::access_revoked);
    CHECK_FALSE(one.alive(start));
    CHECK_FALSE(one.extend(start + 9s));
    one.stop(loss_reason::session_expired);
    CHECK(one.loss(start + 5s) == loss_reason::access_revoked);
    lease other;
    CHECK(other.extend(start + 4s));
    CHECK(other.loss(start + 4s) == loss_reason::deadline_passed);
    other.stop(loss_reason::data_lost);
    CHECK(other.loss(start) == loss_reason::deadline_passed);
  }

  TEST_CASE("every state of ownership, every event") {
    using enum grant_phase;
    using enum grant_event;
    for (const auto from : {held, suspect}) {
      CHECK(after(from, proof_overdue) == suspect);
      CHECK(after(from, proof) == held);
      CHECK(after(from, deadline_passed) == lost);
      CHECK(after(from, ended) == lost);
      CHECK(after(from, unlocked) == released);
      CHECK(after(from, release_sent) == releasing);
      CHECK(is_held(from));
      CHECK_FALSE(is_over(from));
    }
    for (const auto event : {proof_overdue, proof, release_sent}) CHECK(after(releasing, event) == releasing);
    for (const auto event : {deadline_passed, ended}) CHECK(after(releasing, event) == lost);
    CHECK(after(releasing, unlocked) == released);
    CHECK(after(releasing, release_refused) == held);
    CHECK_FALSE(is_held(releasing));
    CHECK_FALSE(is_over(releasing));
    for (const auto from : {lost, released}) {
      CHECK(is_over(from));
      CHECK_FALSE(is_held(from));
      for (const auto event : {proof_overdue, proof, deadline_passed, ended, unlocked, release_sent, release_refused})
        CHECK(after(from, event) == from);
    }
  }
}

}  // namespace latchkey::detail
