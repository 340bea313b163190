// SPDX-License-Identifier: Apache-2.0
#include "session/liveness.hpp"

#include <doctest/doctest.h>

#include "queue/ownership_state.hpp"

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;
constexpr time_point start{1000s};

liveness_clock begun() {
  liveness_clock clock;
  clock.begin(12s, start);
  return clock;
}

/// Lets time pass in a process that runs.
void run(liveness_clock& clock, time_point from, time_point to) {
  for (auto now = from; now <= to; now += clock.beat_interval()) clock.beat(now);
}

}  // namespace

TEST_SUITE("liveness") {
  TEST_CASE("one proof is good for five twelfths of the session timeout after it was sent") {
    auto clock = begun();
    CHECK(clock.valid_until() == time_point::min());
    clock.proved(start, start + 10ms);
    CHECK(clock.valid_until() == start + 5s);
    CHECK(clock.suspect_at() == start + 4s);
    clock.proved(start + 500ms, start + 510ms);
    CHECK(clock.valid_until() == start + 5500ms);
  }

  TEST_CASE("a second proof, a quarter after the answer to the first, makes the first good for eleven twelfths") {
    auto clock = begun();
    clock.proved(start, start + 10ms);
    run(clock, start, start + 4s);
    clock.proved(start + 3s, start + 3020ms);  // too early to say so
    CHECK(clock.valid_until() == start + 8s);
    clock.proved(start + 3010ms, start + 3020ms);
    CHECK(clock.valid_until() == start + 11s);
    clock.proved(start + 6s, start + 6010ms);  // a quarter after the answer to the last but one
    CHECK(clock.valid_until() == start + 11s);
    run(clock, start + 4s, start + 6s);
    clock.proved(start + 6030ms, start + 6040ms);
    CHECK(clock.valid_until() == start + 3010ms + 11s);
  }

  TEST_CASE("in steady state a grant is never valid for less than a third of the session timeout") {
    auto clock = begun();
    auto sent = start;
    for (int i = 0; i < 50; ++i) {
      const auto answered = sent + 100ms;
      clock.proved(sent, answered);
      CHECK(clock.valid_until() >= answered + 4s);
      CHECK(clock.fresh(answered));
      run(clock, answered, answered + 3s);
      sent = answered + clock.proof_interval();
      CHECK(clock.suspect_at() > sent);
    }
  }

  TEST_CASE("an older proof that arrives later changes nothing") {
    auto clock = begun();
    clock.proved(start + 100ms, start + 110ms);
    clock.proved(start, start + 120ms);
    CHECK(clock.valid_until() == start + 100ms + 5s);
  }

  TEST_CASE("a proof is fresh while it leaves a quarter of the session timeout") {
    auto clock = begun();
    CHECK_FALSE(clock.fresh(start));
    clock.proved(start, start);
    CHECK(clock.fresh(start + 1999ms));
    CHECK_FALSE(clock.fresh(start + 2s));
  }

  TEST_CASE("after a stop of the process one proof is not enough, two are") {
    auto clock = begun();
    run(clock, start, start + 3s);
    const auto woken = start + 10s;
    CHECK(clock.wait_before_proof(start + 3s) == 0s);
    clock.proved(woken, woken + 10ms);  // nobody has called beat() meanwhile: noticed here
    CHECK_FALSE(clock.fresh(woken + 10ms));
    CHECK(clock.wait_before_proof(woken + 10ms) == 3s);
    run(clock, woken + 10ms, woken + 3100ms);
    clock.proved(woken + 3010ms, woken + 3020ms);
    CHECK(clock.valid_until() == woken + 11s);
    CHECK(clock.fresh(woken + 3020ms));
    // A third of the timeout later pings have set it right, and one proof is enough again.
    CHECK(clock.wait_before_proof(woken + 4100ms) == 0s);
  }

  TEST_CASE("a new session begins without a proof") {
    auto clock = begun();
    clock.proved(start, start);
    clock.begin(12s, start + 1s);
    CHECK(clock.valid_until() == time_point::min());
    CHECK(clock.wait_before_proof(start + 1s) == 0s);
  }

  TEST_CASE("a pulse that has been seen to end is not revived") {
    pulse beat;
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

  TEST_CASE("every state of ownership, every event") {
    using enum ownership_state;
    using enum ownership_event;
    for (const auto from : {held, suspect}) {
      CHECK(after(from, proof_overdue) == suspect);
      CHECK(after(from, proof) == held);
      CHECK(after(from, deadline_passed) == lost);
      CHECK(after(from, ended) == lost);
      CHECK(after(from, unlocked) == released);
      CHECK_FALSE(is_over(from));
    }
    for (const auto from : {lost, released}) {
      CHECK(is_over(from));
      for (const auto event : {proof_overdue, proof, deadline_passed, ended, unlocked})
        CHECK(after(from, event) == from);
    }
  }
}

}  // namespace latchkey::detail
