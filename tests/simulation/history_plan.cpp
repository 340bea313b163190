// SPDX-License-Identifier: Apache-2.0
#include "simulation/history_plan.hpp"

#include <algorithm>

#include "session/liveness.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

duration drawn_or_none(random_source& random, duration least, duration most) {
  return random.below(3) == 0 ? random.between(least, most) : duration::zero();
}

lock_plan draw_lock(random_source& random, duration timeout) {
  lock_plan lock;
  auto& settings = lock.settings;
  const auto family = random.below(8);
  settings.family = family < 2 ? lock_family::turns : family < 5 ? lock_family::fair : lock_family::shared;
  lock.mixed = settings.family != lock_family::shared && random.below(4) == 0;
  settings.turns = static_cast<std::uint32_t>(1 + random.below(4));
  settings.linger = drawn_or_none(random, timeout / 50, timeout * 2);
  settings.share_for = drawn_or_none(random, timeout / 100, timeout / 4);
  lock.readers = static_cast<double>(20 + random.below(70)) / 100;
  lock.downgrades = random.coin() ? static_cast<double>(random.below(100)) / 100 : 0;
  return lock;
}

/// Nothing goes wrong, the queue is long and everybody in a hurry: the time for turns and shared places.
void calm_down(history_plan& plan, random_source& random) {
  plan.weather = plan.weather.without_faults();
  plan.clients = static_cast<unsigned>(2 + random.below(2));
  plan.callers = static_cast<unsigned>(3 + random.below(3));
  plan.calls = static_cast<unsigned>(4 + random.below(4));
  plan.longest_thought = plan.timeout / 200;
  plan.longest_hold = plan.timeout / 20;
  plan.noticed_after = plan.timeout / 5;
}

void hunt(history_plan& plan, random_source& random) {
  plan.hunted = static_cast<double>(10 + random.below(50)) / 100;
  plan.longest_hold = plan.timeout * 2;
  plan.calls = 2;
  plan.weather.sync_limit = random.between(plan.timeout / 2, plan.timeout * 2);
  if (random.coin()) plan.weather.tick = plan.timeout / 2;  // the longest that a server allows
}

/// Short ticks, so that timeouts can change by much: a lease that is reckoned with the wrong one is far too long.
void renegotiate(history_plan& plan, random_source& random) {
  plan.weather.tick = plan.timeout / 10;
  plan.weather.expires_late = duration::zero();
  plan.weather.reconnecting.most = 10ms;
  plan.weather.renegotiate_every = random.between(plan.timeout / 8, plan.timeout * 2);
  plan.weather.reset_every = random.between(plan.timeout / 8, plan.timeout * 2);
}

/// Places that follow on one another faster than their nodes are watched, on a path that is deleted and taken over.
void rush(history_plan& plan, random_source& random) {
  for (auto& each : plan.locks) {
    each.settings.family = lock_family::fair;
    each.mixed = false;
  }
  plan.clients = static_cast<unsigned>(1 + random.below(3));
  plan.callers = static_cast<unsigned>(2 + random.below(4));
  plan.calls = 8;
  plan.longest_hold = random.coin() ? detail::own_nodes::youth * 8 : detail::own_nodes::youth / 2;
  plan.longest_thought = detail::own_nodes::youth;
  plan.ambushed = 0.3;
  plan.weather.longest_takeover = plan.timeout / 2;
  plan.weather.network.most = std::min<duration>(plan.weather.network.most, 1ms);
  plan.weather.consensus.most = std::min<duration>(plan.weather.consensus.most, 2ms);
  plan.weather.lag.most = std::min<duration>(plan.weather.lag.most, 1ms);
}

/// Some come at any time, others right after a grant, when its owner does not watch its node yet.
void draw_operators(history_plan& plan, random_source& random) {
  plan.weather.operator_every = random.between(plan.timeout / 16, plan.timeout);
  plan.weather.longest_takeover = random.coin() ? plan.timeout / 2 : plan.timeout / 50;
  if (random.coin()) plan.ambushed = static_cast<double>(random.below(50)) / 100;
  if (random.below(3) == 0) rush(plan, random);
}

/// One caller an object, who comes back at once: the time for places that follow directly on one another.
void come_back(history_plan& plan, random_source& random) {
  plan.at_once = 0.9;
  plan.callers = 1;
  plan.calls = static_cast<unsigned>(8 + random.below(8));
  plan.clients = static_cast<unsigned>(1 + random.below(3));
  if (random.coin()) plan.longest_hold = plan.timeout / 50;
}

/// Some hold for longer than they may.
void limit_holds(history_plan& plan, random_source& random) {
  for (auto& each : plan.locks) each.settings.max_hold = random.between(plan.longest_hold / 8, plan.longest_hold);
}

/// Some objects take several of the locks, beside others that take one.
void draw_groups(history_plan& plan, random_source& random) {
  while (plan.locks.size() < 2 + random.below(2)) plan.locks.push_back(draw_lock(random, plan.timeout));
  plan.groups = random.coin() ? 0.4 : 0.8;
  plan.callers = std::min(plan.callers, 2u);
}

/// Who waits for a node that has gone hears of that only when he has waited long.
void lose_transactions(history_plan& plan, random_source& random) {
  plan.weather.lose_every = random.between(plan.timeout / 2, plan.timeout * 4);
  plan.long_wait = plan.timeout * 2;
}

/// Releases are told by datagram, which are lost, late, doubled and replayed.
void tell_peers(history_plan& plan, random_source& random) {
  plan.direct = random.coin() ? 1 : 0.6;
  auto& datagrams = plan.datagrams;
  if (random.coin()) datagrams.delay = {{}, plan.timeout / 4, 0.1, plan.timeout * 2};
  if (random.coin()) datagrams.lost = 0.15;
  if (random.coin()) datagrams.twice = 0.15;
  if (random.coin()) datagrams.replayed = 0.3;
}

/// The leader stalls: its pings are as late as a lease bears, as a whole it stalls for longer. A session timeout that
/// changes is two ticks at least.
void stall_leaders(history_plan& plan, random_source& random) {
  auto& weather = plan.weather;
  plan.tells_tick = random.coin();
  const detail::session_timing shortest{
      .timeout = weather.renegotiate_every > duration::zero() ? weather.tick * 2 : plan.timeout,
      .server_tick = plan.tells_tick ? weather.tick : duration::zero()};
  weather.longest_late_ping = shortest.ping_gap() - weather.tick / 2 - 1ms;
  weather.longest_stall = plan.timeout;
  weather.stall_every = random.between(plan.timeout / 8, plan.timeout * 2);
}

/// A thousand requests at a time: what befalls one in a hundred would end every connection.
void be_careless(history_plan& plan, random_source& random) {
  plan.careless = random.coin() ? 1 : 0.5;
  for (auto* const each : {&plan.weather.lost_before, &plan.weather.lost_after, &plan.weather.stuck}) *each /= 1000;
}

}  // namespace

history_plan history_plan::draw(std::uint64_t seed) {
  random_source random{seed * 2 + 1};  // not the stream that the simulation draws from
  history_plan plan;
  plan.seed = seed;
  plan.timeout = std::chrono::milliseconds{1000 * (2 + random.below(9))};
  plan.clients = static_cast<unsigned>(2 + random.below(5));
  const auto locks = random.below(4) == 0 ? 2u : 1u;
  for (unsigned i = 0; i < locks; ++i) plan.locks.push_back(draw_lock(random, plan.timeout));
  plan.objects = random.below(6) == 0 ? 2 : 1;
  plan.callers = static_cast<unsigned>(1 + random.below(4));
  plan.calls = std::max(2u, static_cast<unsigned>(10 + random.below(5)) / (plan.callers * locks * plan.objects));
  plan.longest_hold = random.coin() ? plan.timeout / 2 : plan.timeout / 50;
  plan.longest_thought = random.coin() ? plan.timeout : plan.timeout / 50;
  plan.faults = random.between(plan.timeout, plan.timeout * 12);
  plan.impatient = random.coin() ? 0.1 : 0.3;
  plan.kept = random.coin() ? 0 : 0.4;
  plan.weather = fault_plan::draw(random, plan.timeout);
  plan.noticed_after = plan.timeout * 2;
  const auto kind = random.below(6);
  if (kind <= 1) hunt(plan, random);
  if (kind <= 1 && random.below(3) == 0) renegotiate(plan, random);
  if (kind == 2) calm_down(plan, random);
  plan.operators = kind != 2 && random.below(3) == 0;
  if (plan.operators) draw_operators(plan, random);
  if (random.below(4) == 0) plan.weather.ask_every = random.between(plan.timeout / 8, plan.timeout);
  plan.a_client_closes = random.below(6) == 0;
  plan.gather_beyond = 1 + random.below(3);
  if (random.below(3) == 0) plan.commits = random.coin() ? 0.2 : 0.7;
  if (kind >= 3 && random.coin()) come_back(plan, random);
  if (!plan.operators && random.below(8) == 0) lose_transactions(plan, random);
  if (random.below(3) == 0) limit_holds(plan, random);
  if (random.below(3) == 0) draw_groups(plan, random);
  if (random.coin()) tell_peers(plan, random);
  if (seed % 4 == 1) plan.weather.stopped_at_clock = 0.05;
  if (random.below(40) == 0) be_careless(plan, random);
  if (random.below(8) == 0) plan.weather.quota_every = random.between(plan.timeout / 8, plan.timeout);
  if (kind != 2 && random.below(16) == 0) {
    plan.weather.oversize_every = random.between(plan.timeout / 2, plan.timeout * 4);
    plan.weather.longest_oversize = plan.timeout * 4;
  }
  if (kind != 2 && random.below(50) == 0) plan.weather.demand_every = random.between(plan.timeout, plan.timeout * 8);
  if (random.below(3) == 0) stall_leaders(plan, random);
  if (kind != 2 && random.below(4) == 0) plan.weather.look_up = {.slow = 0.5, .slowest = plan.timeout * 2};
  plan.a_client_dies = !plan.a_client_closes && random.below(4) == 0;
  if (random.below(3) == 0) plan.awaited = random.coin() ? 1 : 0.5;
  return plan;
}

}  // namespace latchkey::testing
