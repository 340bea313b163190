// SPDX-License-Identifier: Apache-2.0
#include "simulation/fault_plan.hpp"

#include <algorithm>
#include <initializer_list>

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// Most faults are off in most histories, so that they are seen alone as well as together.
double sometimes(random_source& random, double most) {
  return random.below(3) == 0 ? most * static_cast<double>(1 + random.below(100)) / 100 : 0;
}

duration now_and_then(random_source& random, duration least) {
  return random.below(3) == 0 ? random.between(least, least * 8) : duration::zero();
}

}  // namespace

fault_plan fault_plan::draw(random_source& random, duration timeout) {
  fault_plan plan;
  plan.tick = random.between(timeout / 10, timeout / 2);
  plan.sync_limit = plan.tick * static_cast<int>(1 + random.below(5));
  plan.expires_late = random.coin() ? duration::zero() : plan.tick;
  plan.network.most = random.between(200us, 5ms);
  plan.network.slow = sometimes(random, 0.05);
  plan.network.slowest = random.between(5ms, timeout / 24);  // longer than that is a hole
  plan.consensus.most = random.between(500us, 20ms);
  plan.lag.most = random.between(0us, 20ms);
  plan.lag.slow = sometimes(random, 0.1);
  plan.lag.slowest = timeout / 8;
  if (random.below(4) == 0) plan.watch_delay = {.least = 0ms, .most = timeout / 16};
  plan.reconnecting.most = random.between(10ms, timeout / 4);

  plan.lost_before = sometimes(random, 0.02);
  plan.lost_after = sometimes(random, 0.02);
  plan.stuck = sometimes(random, 0.01);
  plan.late_write = static_cast<double>(random.below(101)) / 100;
  plan.latest_write = random.between(1ms, timeout / 2);
  plan.unannounced = sometimes(random, 1);
  plan.refuse_sending = static_cast<double>(random.below(101)) / 100;
  plan.unresolvable = sometimes(random, 0.5);

  plan.reset_every = now_and_then(random, timeout / 2);
  plan.hole_every = now_and_then(random, timeout);
  plan.longest_hole = timeout * 2;
  plan.cut_every = now_and_then(random, timeout);
  plan.longest_cut = timeout * 2;
  plan.hold_back_every = now_and_then(random, timeout);
  plan.longest_hold_back = timeout;
  plan.election_every = now_and_then(random, timeout * 2);
  plan.pause_every = now_and_then(random, timeout);
  plan.longest_pause = timeout * 2;
  plan.reap_every = now_and_then(random, timeout / 2);
  plan.reap_unused = random.coin();
  plan.foreign_every = now_and_then(random, timeout);
  plan.renegotiate_every = now_and_then(random, timeout / 2);
  return plan;
}

duration fault_plan::slowest_answer(duration timeout) const {
  const auto worst = [](const delay_range& of) { return of.slow > 0 ? std::max(of.most, of.slowest) : of.most; };
  const auto moving = worst(network) * 2 + worst(consensus) + worst(lag) + worst(watch_delay);
  return stuck > 0 ? moving * 2 + timeout / 4 : moving;
}

fault_plan fault_plan::without_faults() const {
  auto calm = *this;
  calm.network.slow = calm.consensus.slow = calm.lag.slow = calm.reconnecting.slow = calm.watch_delay.slow = 0;
  calm.look_up = {};
  calm.lost_before = calm.lost_after = calm.stuck = calm.unannounced = calm.unresolvable = 0;
  calm.stopped_at_clock = 0;
  for (auto* const each :
       {&calm.reset_every, &calm.hole_every, &calm.cut_every, &calm.election_every, &calm.pause_every, &calm.reap_every,
        &calm.stall_every, &calm.hold_back_every, &calm.operator_every, &calm.foreign_every, &calm.renegotiate_every,
        &calm.quota_every, &calm.lose_every, &calm.ask_every, &calm.demand_every, &calm.oversize_every}) {
    *each = duration::zero();
  }
  return calm;
}

}  // namespace latchkey::testing
