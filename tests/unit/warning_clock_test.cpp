// SPDX-License-Identifier: Apache-2.0
/// Whether a healthy holder is warned: the arithmetic of `liveness_clock`, walked through.

#include <functional>
#include <map>
#include <random>
#include <utility>

#include <doctest/doctest.h>

#include "session/lease_warnings.hpp"
#include "session/liveness.hpp"

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;

constexpr time_point begin{1000s};

/// With T = 24 s: one unit of the proof is a second.
struct settings {
  duration server_tick{};
  bool trusts_network = false;
  duration before{};
  duration locked_after{};  ///< in the rhythm of an idle client
  duration asked_after{};   ///< of the grant
};

/// What the lease keeper does with its clock, for one holder that asks to be warned.
class warned_holder {
 public:
  warned_holder(const settings& with, std::function<duration()> round_trip)
      : with_{with}, round_trip_{std::move(round_trip)} {
    const session_timing timing{24s, with.server_tick, with.trusts_network};
    clock_.begin(timing, begin - 24h);
    clock_.connected(begin - 24h);
    if (!with.trusts_network) send_beat();
    at(now_ + 24s + with.locked_after, [this] { send(evidence::committed, [this] { on_granted(); }); });
  }

  /// @returns the least that was left of the lease, from T/12 after the call that asked for the warning.
  duration least_left(duration time) {
    const auto end = begin + time;
    while (events_.begin()->first < end) {
      const auto [when, what] = *events_.begin();
      events_.erase(events_.begin());
      now_ = when;
      if (now_ > checked_from_) least_ = std::min(least_, clock_.valid_until() - now_);
      what();
    }
    return least_;
  }

  liveness_clock& clock() noexcept { return clock_; }
  int proofs() const noexcept { return proofs_; }
  int syncs() const noexcept { return syncs_; }

 private:
  void at(time_point when, std::function<void()> what) { events_.emplace(when, std::move(what)); }

  void send(evidence what, std::function<void()> then) {
    answered_ = std::max(answered_, now_ + round_trip_());
    at(answered_, [this, what, then, sent = now_] {
      clock_.answered(what, sent, now_);
      then();
    });
  }

  void on_granted() {
    holding_ = true;
    prove_if_due();
    beat_by(now_ + clock_.beat_interval(true));
    at(now_ + with_.asked_after, [this] {
      clock_.reserve(with_.before);
      checked_from_ = now_ + 2s;
      prove_if_due();
      beat_by(std::max(now_, synced_ + clock_.beat_interval(true)));
    });
  }

  void prove_if_due() {
    if (!holding_ || !clock_.wants_proof(now_) || !clock_.provable(now_)) return;
    clock_.proof_sent(now_);
    ++proofs_;
    send(evidence::committed, [] {});
  }

  void send_beat() {
    beat_by(now_ + clock_.beat_interval(holding_));
    synced_ = now_;
    ++syncs_;
    send(evidence::relayed, [this] { prove_if_due(); });
  }

  void beat_by(time_point when) {
    if (beat_ && *beat_ <= when) return;
    beat_ = when;
    at(when, [this, when] {
      if (beat_ != when) return;
      beat_.reset();
      send_beat();
    });
  }

  const settings with_;
  const std::function<duration()> round_trip_;
  liveness_clock clock_;
  std::multimap<time_point, std::function<void()>> events_;
  time_point now_ = begin;
  time_point answered_ = begin;
  time_point synced_{};
  time_point checked_from_ = never;
  std::optional<time_point> beat_;
  duration least_ = duration::max();
  bool holding_ = false;
  int proofs_ = 0, syncs_ = 0;
};

std::function<duration()> always(duration round_trip) {
  return [round_trip] { return round_trip; };
}

/// Any below T/24, mostly near the ends.
std::function<duration()> any_round_trip(unsigned seed) {
  return [random = std::mt19937{seed}]() mutable -> duration {
    const auto kind = random() % 3;
    return kind == 0 ? 1us : kind == 1 ? 1s - 1us : std::chrono::microseconds{random() % 1'000'000};
  };
}

/// @returns the least that was left with many round trips below T/24.
duration least_of_many(const settings& with) {
  auto least = duration::max();
  const auto walk = [&](std::function<duration()> round_trip) {
    least = std::min(least, warned_holder{with, std::move(round_trip)}.least_left(80s));
  };
  for (const auto each : {1us, 500'000us, 999'999us}) walk(always(each));
  for (unsigned seed = 1; seed <= 2; ++seed) walk(any_round_trip(seed));
  return least;
}

/// Of a session with that tick.
duration longest(duration server_tick) { return session_timing{24s, server_tick}.longest_warning(); }

}  // namespace

TEST_SUITE("warning clock") {
  TEST_CASE("a holder can be warned T/4 before the end of its lease, or T/8 if T is known to be below four ticks") {
    for (const auto tick : {0s, 2s, 6s}) CHECK(longest(tick) == 6s);
    for (const auto tick : {7s, 12s, 18s}) CHECK(longest(tick) == 3s);
  }

  TEST_CASE("a holder whose round trips take less than T/24 is not warned, in whatever rhythm it locks and asks") {
    for (const auto& [tick, trusts] : {std::pair{0s, false}, {0s, true}, {6s, false}, {12s, false}, {12s, true}}) {
      for (const auto part : {24, 20, 16, 8}) {
        const auto before = longest(tick) * part / 24;
        for (duration locked{}; locked < 4s; locked += 330ms) {
          for (duration asked{}; asked < 8s; asked = asked * 2 + 190ms) {
            CAPTURE(tick.count());
            CAPTURE(trusts);
            CAPTURE(before.count());
            CAPTURE(locked.count());
            CAPTURE(asked.count());
            CHECK(least_of_many({tick, trusts, before, locked, asked}) > before);
          }
        }
      }
    }
  }

  TEST_CASE("a holder whose round trips take T/8 is warned") {
    warned_holder w{{.before = 6s}, always(3s)};
    CHECK(w.least_left(2min) < 6s);
  }

  TEST_CASE("a warning costs a holder no more requests up to T/6, and at most half as many again beyond") {
    const auto cost = [](duration before, duration tick = {}) {
      warned_holder w{{.server_tick = tick, .before = before}, always(10ms)};
      w.least_left(1min);
      const auto proofs = w.proofs();
      const auto syncs = w.syncs();
      w.least_left(1min + 240s);
      return std::pair{w.proofs() - proofs, w.syncs() - syncs};
    };
    CHECK(cost(0s) == std::pair{40, 80});
    CHECK(cost(4s) == std::pair{40, 80});
    CHECK(cost(5s) == std::pair{40, 120});
    CHECK(cost(6s) == std::pair{60, 120});
    CHECK(cost(0s, 12s) == std::pair{80, 80});
    CHECK(cost(1s, 12s) == std::pair{80, 80});
  }

  TEST_CASE("warnings come in their order, once, and not before a proof could arrive") {
    lease_warnings all;
    std::vector<int> given;
    const auto give = [&](time_point valid_until, time_point now) {
      while (const auto what = all.take_due(valid_until, now)) what();
    };
    CHECK(all.longest() == 0s);
    CHECK(all.next(begin, begin) == never);
    all.add(2s, begin, [&] { given.push_back(2); });
    all.add(3s, begin, [&] { given.push_back(3); });
    const auto unwanted = all.add(4s, begin, [&] { given.push_back(4); });
    all.add(1s, begin + 30s, [&] { given.push_back(1); });
    CHECK(all.longest() == 4s);
    all.remove(unwanted);
    CHECK(all.longest() == 3s);
    CHECK(all.next(begin + 10s, begin) == begin + 7s);
    give(begin + 10s, begin + 7s - 1ns);
    CHECK(given.empty());
    give(begin + 10s, begin + 8s);
    CHECK(given == std::vector{3, 2});
    CHECK(all.next(begin + 10s, begin + 8s) == begin + 30s);
    give(begin + 20s, begin + 30s - 1ns);
    CHECK(given.size() == 2);
    give(begin + 40s, begin + 30s);
    CHECK(given.size() == 2);
    give(time_point::min(), begin + 40s);
    CHECK(given == std::vector{3, 2, 1});
    CHECK(all.longest() == 0s);
  }
}

}  // namespace latchkey::detail
