// SPDX-License-Identifier: Apache-2.0
// Hunts for the moment at which the leader knows least about a session: its grants must end before the ensemble ends it
// (src/session/liveness.hpp).
#include <algorithm>
#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "simulation/simulated_client.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds timeout = 4s;

/// What is left to clocks that run at different speeds.
constexpr duration reserve = duration{timeout} / 12;

/// What happens to the client that waits before it is granted the lock, or to its server while it holds.
enum class ordeal {
  none,
  stopped,
  stalled_before,
  stalled_at_grant,
  reconnected,
  from_leader_held,
  to_leader_held,
  leader_stalled,
  pings_late
};

/// Of the servers: two to a session timeout at least, or fewer since `minSessionTimeout` was set lower.
struct ticks {
  std::chrono::milliseconds length{};  ///< zero: any
  bool told = false;                   ///< to the clients
};
constexpr ticks by_default{};
constexpr ticks two_to_a_timeout{timeout / 2};
constexpr ticks two_and_told{timeout / 2, true};
constexpr ticks long_and_told{timeout * 3 / 4, true};
constexpr ticks long_and_unknown{timeout};

detail::session_timing session_timing_of(ticks tick) {
  return {.timeout = timeout, .server_tick = tick.told ? tick.length : 0ms};
}

struct lease_hunt {
  /// @param least, most for how long the grant has been held when the strike comes
  /// @param late by how much the leader's pings are, or for how long it stalls
  lease_hunt(std::uint64_t seed, ordeal what, duration least, duration most, ticks tick, duration late)
      : time{seed},
        ensemble{time, weather(time.random(), tick)},
        waiter{ensemble, options(tick)},
        holder{ensemble, options(tick)} {
    auto& random = time.random();
    holder.connect();
    waiter.connect();
    const auto first = enter(holder, *held_cohort);
    const auto second = enter(waiter, *waiting_cohort);
    time.run_for(random.between(0ms, 10s));
    suffer(what, random);
    held_cohort->unlock();
    if (what == ordeal::stalled_at_grant) connection().open_hole(random.between(100ms, 2600ms));
    granted = time.run_until([&] { return second->what == detail::waiter::outcome::granted; }, time.now() + 1min);
    grant = waiting_cohort->held();
    if (what == ordeal::from_leader_held || what == ordeal::to_leader_held) {
      hold_back(what, random, most);
    } else if (what == ordeal::leader_stalled || what == ordeal::pings_late) {
      time.run_for(random.between(least, most));
      stall_leader(what, random, late);
    } else {
      time.run_for(random.between(least, most));
    }
  }

  /// Nobody hears of the session any more, neither through its server nor otherwise.
  /// @returns how long before the end of its session the grant ended; nothing when there is nothing to see.
  std::optional<duration> strike() {
    if (!granted || !grant || !connection().server() || connection().server()->is_leader()) return std::nullopt;
    const auto session = connection().session()->id;
    ensemble.cut_server(connection().server()->number(), 1h);
    connection().open_hole(1h);
    auto until = grant.valid_until();
    time.run_until(
        [&] {
          until = std::max(until, grant.valid_until());
          return !ensemble.alive(session);
        },
        time.now() + 1min);
    return time.now() - until;
  }

 private:
  static client_options options(ticks tick) {
    client_options of;
    of.session_timeout = timeout;
    if (tick.told) of.server_tick = tick.length;
    return of;
  }
  static fault_plan weather(random_source& random, ticks tick) {
    fault_plan plan;
    plan.tick = random.coin() ? timeout / 2 : random.between(timeout / 10, timeout / 2);
    if (tick.length > 0s) plan.tick = tick.length;
    return plan;
  }
  std::shared_ptr<detail::waiter> enter(simulated_client& client, detail::cohort& cohort) {
    auto call = client.run([&] { return cohort.enter(1, detail::never); });
    time.run_until([&] { return !ensemble.children("/q").empty(); }, time.now() + 1min);
    time.run_for(100ms);
    return call;
  }
  void suffer(ordeal what, random_source& random) {
    if (what == ordeal::stopped) {
      const auto length = random.between(100ms, timeout - 100ms);
      time.pause(waiter.process(), time.now() + length);
      time.run_for(random.between(length - 300ms, length + 2s));
    } else if (what == ordeal::stalled_before) {
      const auto length = random.between(100ms, timeout * 2 / 3 - 60ms);  // nobody notices
      connection().open_hole(length);
      time.run_for(random.between(length - 300ms, length + 2s));
    } else if (what == ordeal::reconnected) {
      ensemble.plan().reconnecting.most = timeout / 2;
      connection().lose_connection();
      time.run_until([&] { return connection().connected(); }, time.now() + 1min);
      time.run_for(random.between(0ms, 2s));
    }
  }
  /// The link stays up, so that no one notices. What its leader has sent reaches the server in the end; what the server
  /// answers does not reach the leader.
  void hold_back(ordeal what, random_source& random, duration within) {
    time.run_for(random.between(0ms, within));
    if (!connection().server()) return;
    auto& server = ensemble.server(connection().server()->number());
    const auto length = random.between(timeout / 8, timeout * 3 / 4);
    if (what == ordeal::from_leader_held) server.hold_back(direction::from_leader, length);
    if (what == ordeal::to_leader_held) server.hold_back(direction::to_leader, length);
    time.run_for(length - 1us);
    if (what == ordeal::from_leader_held) server.hold_back(direction::to_leader, 1h);
    time.run_for(random.between(0ms, random.coin() ? 20ms : 1s));
  }
  /// The strike comes just before what the leader then does, or at any moment.
  void stall_leader(ordeal what, random_source& random, duration late) {
    if (what == ordeal::leader_stalled) {
      const auto length = random.between(0ms, late);
      ensemble.stall_leader(length);
      time.run_for(random.coin() ? length + random.between(0ms, 5ms) : random.between(0ms, length + 1s));
    } else {
      ensemble.stall_pings(late);
      time.run_for(random.below(4) != 0 ? late - 1us : random.between(0ms, late + 1s));
    }
  }
  fake_session& connection() { return *waiter.connector().latest(); }

 public:
  simulation time;
  fake_ensemble ensemble;
  simulated_client waiter;
  simulated_client holder;
  std::shared_ptr<detail::cohort> waiting_cohort = waiter.cohort("/q");
  std::shared_ptr<detail::cohort> held_cohort = holder.cohort("/q");
  bool granted = false;
  latchkey::grant grant;
};

/// @returns the smallest margin that was seen.
duration worst_margin(ordeal what, duration least, duration most, ticks tick = by_default, duration late = {}) {
  auto worst = duration::max();
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    lease_hunt one{seed, what, least, most, tick, late};
    const auto margin = one.strike();
    if (!margin) continue;
    ++seen;
    if (*margin < worst) worst = *margin;
  }
  CHECK(seen > 150);
  MESSAGE("the smallest margin of " << seen << ": " << std::chrono::duration<double>(worst).count()
                                    << " s of a session timeout of " << timeout / 1s << " s");
  return worst;
}

}  // namespace

TEST_SUITE("liveness hunts") {
  TEST_CASE("a grant ends before its session, whichever way packets between the servers are held back") {
    for (const auto what : {ordeal::from_leader_held, ordeal::to_leader_held}) {
      CHECK(worst_margin(what, 0s, 1s) >= reserve);
      CHECK(worst_margin(what, 0s, 10s) >= reserve);
    }
  }
  TEST_CASE("a grant after a new connection ends before its session") {
    CHECK(worst_margin(ordeal::reconnected, 0s, 1s) >= reserve);
    CHECK(worst_margin(ordeal::reconnected, 0s, 10s) >= reserve);
  }
  TEST_CASE("a new grant ends before its session, however long its client has been idle") {
    CHECK(worst_margin(ordeal::none, 0s, 1s) >= reserve);
  }
  TEST_CASE("a grant that has been proved several times ends before its session") {
    CHECK(worst_margin(ordeal::none, 0s, 10s) >= reserve);
  }
  TEST_CASE("a grant to a process that has been stopped ends before its session") {
    CHECK(worst_margin(ordeal::stopped, 0s, 1s) >= reserve);
    CHECK(worst_margin(ordeal::stopped, 0s, 10s) >= reserve);
  }
  TEST_CASE("a grant after the network has stalled unnoticed ends before its session") {
    for (const auto what : {ordeal::stalled_before, ordeal::stalled_at_grant}) {
      CHECK(worst_margin(what, 0s, 1s) >= reserve);
      CHECK(worst_margin(what, timeout, 10s) >= reserve);
    }
  }
  TEST_CASE("servers whose tick is longer than half of the session timeout do no harm if the client knows") {
    for (const auto what : {ordeal::none, ordeal::from_leader_held, ordeal::stalled_before}) {
      CHECK(worst_margin(what, 0s, 1s, long_and_told) >= reserve);
      CHECK(worst_margin(what, 0s, 10s, long_and_told) >= reserve);
    }
    CHECK(worst_margin(ordeal::none, 0s, 10s, long_and_unknown) < reserve);  // why it has to be told
  }
  TEST_CASE("a grant ends before its session, however late the leader's pings are within what a lease bears") {
    for (const auto tick : {two_to_a_timeout, two_and_told, long_and_told, {timeout / 3, true}, {timeout / 5}}) {
      CAPTURE(tick.length.count());
      CAPTURE(tick.told);
      const auto late = session_timing_of(tick).ping_gap() - tick.length / 2;
      CHECK(worst_margin(ordeal::pings_late, 0s, 10s, tick, late) >= reserve);
    }
    // What is left to clocks bears T/12 more.
    CHECK(worst_margin(ordeal::pings_late, 0s, 10s, two_and_told, 1s) > 0s);
    // Without the tick the client does not wait so long for a ping; nor for one that is later still.
    CHECK(worst_margin(ordeal::pings_late, 0s, 10s, two_to_a_timeout, 1s) < 0s);
    CHECK(worst_margin(ordeal::pings_late, 0s, 10s, two_and_told, timeout * 3 / 4) < 0s);
  }
  TEST_CASE("a grant ends before its session, for however long the leader stalls as a whole") {
    for (const auto tick : {by_default, two_to_a_timeout, two_and_told, long_and_told}) {
      CAPTURE(tick.length.count());
      CAPTURE(tick.told);
      CHECK(worst_margin(ordeal::leader_stalled, 0s, 10s, tick, timeout) >= reserve);
    }
  }
}
}  // namespace latchkey::testing
