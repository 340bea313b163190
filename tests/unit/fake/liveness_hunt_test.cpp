// SPDX-License-Identifier: Apache-2.0
// Hunts for the moment at which the leader knows least about a session: its grants must end before the ensemble ends it
// (DESIGN.md, 6).
#include <algorithm>
#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "fake/simulated_client.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto timeout = 4s;

/// What happens to the client that waits, before it is granted the lock.
enum class ordeal { none, stopped, stalled_before, stalled_at_grant };

struct hunt {
  /// @param least, most for how long the grant has been held when the strike comes
  hunt(std::uint64_t seed, ordeal what, duration least, duration most)
      : time{seed}, ensemble{time, weather(time.random())}, waiter{ensemble, options()}, holder{ensemble, options()} {
    auto& random = time.random();
    holder.connect();
    waiter.connect();
    const auto first = enter(holder, *held_seat);
    const auto second = enter(waiter, *waiting_seat);
    time.run_for(random.between(0ms, 10s));
    suffer(what, random);
    held_seat->unlock();
    if (what == ordeal::stalled_at_grant) connection().open_hole(random.between(100ms, 2600ms));
    granted = time.run_until([&] { return second->what == detail::caller::outcome::granted; }, time.now() + 1min);
    grant = waiting_seat->held();
    time.run_for(random.between(least, most));
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
  static client_options options() {
    client_options of;
    of.session_timeout = timeout;
    return of;
  }
  static fault_plan weather(random_source& random) {
    fault_plan plan;
    plan.tick = random.coin() ? timeout / 2 : random.between(timeout / 10, timeout / 2);
    return plan;
  }
  std::shared_ptr<detail::caller> enter(simulated_client& client, detail::seat& seat) {
    auto call = client.run([&] { return seat.enter(1, {}); });
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
    }
  }
  fake_session& connection() { return *waiter.connector().latest(); }

 public:
  simulation time;
  fake_ensemble ensemble;
  simulated_client waiter;
  simulated_client holder;
  std::shared_ptr<detail::seat> waiting_seat = waiter.seat("/q");
  std::shared_ptr<detail::seat> held_seat = holder.seat("/q");
  bool granted = false;
  latchkey::grant grant;
};

/// @returns the smallest margin that was seen.
duration worst_margin(ordeal what, duration least, duration most) {
  auto worst = duration::max();
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    hunt one{seed, what, least, most};
    const auto margin = one.strike();
    if (!margin) continue;
    ++seen;
    if (*margin < worst) worst = *margin;
  }
  CHECK(seen > 300);
  MESSAGE("the smallest margin of " << seen << ": " << std::chrono::duration<double>(worst).count()
                                    << " s of a session timeout of " << timeout.count() << " s");
  return worst;
}

}  // namespace

TEST_SUITE("liveness hunts") {
  TEST_CASE("a new grant ends before its session, however long its client has been idle") {
    CHECK(worst_margin(ordeal::none, 0s, 1s) > 0s);
  }
  TEST_CASE("a grant that has been proved several times ends before its session") {
    CHECK(worst_margin(ordeal::none, 0s, 10s) > 0s);
  }
  TEST_CASE("a grant to a process that has been stopped ends before its session") {
    CHECK(worst_margin(ordeal::stopped, 0s, 1s) > 0s);
    CHECK(worst_margin(ordeal::stopped, 0s, 10s) > 0s);
  }
}

// A single proof trusts that the pings before it arrived in time: the limit that liveness.hpp and the README name.
TEST_SUITE("liveness hunts after a stall") {
  TEST_CASE("a new grant after the network has stalled unnoticed outlives its session by less than T/3") {
    CHECK(worst_margin(ordeal::stalled_before, 0s, 1s) > -duration{timeout} / 3);
    CHECK(worst_margin(ordeal::stalled_at_grant, 0s, 1s) > -duration{timeout} / 3);
  }
  TEST_CASE("a grant that has been proved twice ends before its session, whatever the network did before") {
    CHECK(worst_margin(ordeal::stalled_before, timeout, 10s) > 0s);
    CHECK(worst_margin(ordeal::stalled_at_grant, timeout, 10s) > 0s);
  }
}
}  // namespace latchkey::testing
