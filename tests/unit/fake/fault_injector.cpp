// SPDX-License-Identifier: Apache-2.0
#include "fake/fault_injector.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "session/prover.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// Children that are no contenders, whatever they look like (PEERS.md, 16).
constexpr std::array foreign_names{"00",        "config", "name-", "lock-", "x-lock-12345", "_c_--lock-000000000a",
                                   "0000000001"};

}  // namespace

fault_injector::fault_injector(fake_ensemble& ensemble, std::vector<std::string> playground)
    : ensemble_{ensemble}, playground_{std::move(playground)} {
  every(&fault_plan::reset_every, &fault_injector::reset);
  every(&fault_plan::hole_every, &fault_injector::open_hole);
  every(&fault_plan::cut_every, &fault_injector::cut);
  every(&fault_plan::election_every, &fault_injector::elect);
  every(&fault_plan::pause_every, &fault_injector::pause);
  every(&fault_plan::reap_every, &fault_injector::reap);
  every(&fault_plan::operator_every, &fault_injector::operate);
  every(&fault_plan::foreign_every, &fault_injector::intrude);
  every(&fault_plan::revoke_every, &fault_injector::revoke);
}

void fault_injector::every(duration fault_plan::*interval, void (fault_injector::*fault)()) {
  const auto mean = plan().*interval;
  if (mean <= duration::zero()) return;
  ensemble_.time().after(random().between(1us, mean * 2), [this, interval, fault] {
    if (plan().*interval <= duration::zero()) return;  // healed
    (this->*fault)();
    every(interval, fault);
  });
}

fake_session* fault_injector::any_session() {
  std::vector<fake_session*> living;
  for (const auto& each : ensemble_.connections()) {
    if (!each->over()) living.push_back(each.get());
  }
  return living.empty() ? nullptr : living[random().below(living.size())];
}

const std::string& fault_injector::any_path() { return playground_[random().below(playground_.size())]; }

void fault_injector::reset() {
  if (auto* const session = any_session()) session->lose_connection();
}

void fault_injector::open_hole() {
  if (auto* const session = any_session()) session->open_hole(random().between(1ms, plan().longest_hole));
}

void fault_injector::cut() {
  for (unsigned i = 0; i < ensemble_.servers(); ++i) {
    if (ensemble_.server(i).is_cut()) return;  // a second one would leave no quorum
  }
  const auto server = static_cast<unsigned>(random().below(ensemble_.servers()));
  // Packets held back shortly before a cut are more than a single proof bears (liveness.hpp).
  if (ensemble_.held_back(server, plan().longest_hole / 4)) return;
  ensemble_.cut_server(server, random().between(1ms, plan().longest_cut),
                       random().between(1ms, plan().longest_election));
}

void fault_injector::elect() { ensemble_.elect(random().between(1ms, plan().longest_election)); }

void fault_injector::pause() {
  auto* const session = any_session();
  if (!session || session->client().process == process_id::none) return;
  ensemble_.time().pause(session->client().process,
                         ensemble_.time().now() + random().between(1ms, plan().longest_pause));
}

/// @returns nothing when there is none.
std::string fault_injector::any_node() {
  const auto& path = any_path();
  auto names = ensemble_.children(path);
  if (names.empty()) return {};
  // Not by their names: those are random beyond our seed.
  std::sort(names.begin(), names.end(), [&](const auto& a, const auto& b) {
    return ensemble_.czxid(path + "/" + a) < ensemble_.czxid(path + "/" + b);
  });
  return path + "/" + names[random().below(names.size())];
}

void fault_injector::operate() {
  auto victim = any_node();
  if (victim.empty()) return;
  if (ensemble_.remove(victim) == detail::reply_code::ok) deleted_.push_back(std::move(victim));
}

void fault_injector::revoke() {
  if (const auto node = any_node(); !node.empty()) ensemble_.change(node, std::string{detail::release_request});
}

void fault_injector::intrude() {
  ensemble_.create(any_path() + "/" + foreign_names[random().below(foreign_names.size())]);
}

}  // namespace latchkey::testing
