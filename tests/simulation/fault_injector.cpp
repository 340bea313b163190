// SPDX-License-Identifier: Apache-2.0
#include "simulation/fault_injector.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "recipes/rules.hpp"
#include "session/own_nodes.hpp"

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
  every(&fault_plan::hold_back_every, &fault_injector::hold_back);
  every(&fault_plan::stall_every, &fault_injector::stall);
  every(&fault_plan::election_every, &fault_injector::elect);
  every(&fault_plan::pause_every, &fault_injector::pause);
  every(&fault_plan::reap_every, &fault_injector::reap);
  every(&fault_plan::operator_every, &fault_injector::operate);
  every(&fault_plan::foreign_every, &fault_injector::intrude);
  every(&fault_plan::renegotiate_every, &fault_injector::renegotiate);
  every(&fault_plan::lose_every, &fault_injector::lose);
  every(&fault_plan::quota_every, &fault_injector::limit);
  every(&fault_plan::oversize_every, &fault_injector::limit_requests);
  every(&fault_plan::demand_every, &fault_injector::demand_authentication);
  every(&fault_plan::ask_every, &fault_injector::ask_to_release);
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
  ensemble_.cut_server(server, random().between(1ms, plan().longest_cut),
                       random().between(1ms, plan().longest_election));
}

/// Half of them end with a cut: what the server had to say then is lost.
void fault_injector::hold_back() {
  const auto number = static_cast<unsigned>(random().below(ensemble_.servers()));
  auto& server = ensemble_.server(number);
  const auto way = random().coin() ? direction::from_leader : direction::to_leader;
  const auto length = random().between(1ms, std::min(plan().longest_hold_back, plan().sync_limit));
  server.hold_back(way, length);
  if (way == direction::to_leader || random().coin()) return;
  ensemble_.time().after(length, [this, &server] {
    if (plan().hold_back_every > duration::zero()) server.hold_back(direction::to_leader, plan().sync_limit);
  });
}

/// One server, or all of them, agree to other session timeouts: never to less than two ticks, ZooKeeper's default, nor
/// to more than the clients have asked for, which would end the session. A client that meets them may be cut off soon
/// after, when its grants may still rest on the timeout before.
void fault_injector::renegotiate() {
  auto* const session = any_session();
  if (!session) return;
  const auto wanted = session->client().timeout;
  const auto shortest = std::max(plan().tick * 2, wanted / 5);
  if (shortest >= wanted) return;
  const auto draw = [&](duration to) {
    return std::chrono::ceil<std::chrono::milliseconds>(random().between(shortest, to));
  };
  const duration most = random().below(4) == 0 ? wanted : draw(wanted);
  const duration least = random().coin() ? draw(most) : duration::zero();
  const auto chosen = random().below(ensemble_.servers() * 2);
  const auto all = chosen >= ensemble_.servers();
  if (ensemble_.traced()) {
    const auto seconds = [](duration of) { return std::chrono::duration<double>(of).count(); };
    ensemble_.trace(fmt::format("{} to session timeouts from {:.3f}s to {:.3f}s",
                                all ? "all servers agree" : fmt::format("server {} agrees", chosen), seconds(least),
                                seconds(most)));
  }
  for (unsigned i = 0; i < ensemble_.servers(); ++i) {
    if (all || i == chosen) ensemble_.server(i).limit_timeout(most, least);
  }
  if (random().coin()) session->lose_connection();
  if (random().coin()) return;
  ensemble_.time().after(random().between({}, wanted / 8), [this, session] {
    if (plan().renegotiate_every > duration::zero())
      session->open_hole(random().between(1ms, session->client().timeout));
  });
}

/// Not again before the pings that are late have been sent: they would be later than a lease bears.
void fault_injector::stall() {
  if (ensemble_.time().now() < ensemble_.leader().pings_stopped_until()) return;
  if (random().coin()) return ensemble_.stall_leader(random().between(1ms, plan().longest_stall));
  if (plan().longest_late_ping > 0s) ensemble_.stall_pings(random().between(1us, plan().longest_late_ping));
}

void fault_injector::elect() { ensemble_.elect(random().between(1ms, plan().longest_election)); }

void fault_injector::pause() {
  auto* const session = any_session();
  if (!session || session->client().process == process_id::none) return;
  ensemble_.time().pause(session->client().process,
                         ensemble_.time().now() + random().between(1ms, plan().longest_pause));
}

/// In the order of their creation: their names are random beyond our seed.
std::vector<std::string> fault_injector::nodes(const std::string& path) {
  auto found = ensemble_.children(path);
  for (auto& each : found) each = path + "/" + each;
  std::sort(found.begin(), found.end(),
            [&](const auto& a, const auto& b) { return ensemble_.czxid(a) < ensemble_.czxid(b); });
  return found;
}

/// @returns nothing when there is none.
std::string fault_injector::any_node(const std::string& path) {
  const auto all = nodes(path);
  return all.empty() ? std::string{} : all[random().below(all.size())];
}

void fault_injector::operate_on(const std::string& path) {
  const auto what = random().below(4);
  if (what == 0) {
    if (remove_all(path) && random().coin()) take_over(path);
    return;
  }
  const auto all = nodes(path);
  if (!all.empty()) remove(what == 1 ? all.front() : all[random().below(all.size())]);
}

void fault_injector::remove(const std::string& node) {
  if (ensemble_.remove(node) == detail::reply_code::ok) deleted_.push_back({node, ensemble_.time().now()});
}

void fault_injector::seize(const std::string& path) {
  std::uint32_t next = 1;
  for (const auto& each : nodes(path)) {
    if (const auto place = detail::parse_contender(each.substr(path.size() + 1)))
      next = std::max(next, place->number + 1);
  }
  if (!remove_all(path)) return;
  take_over(path);
  ensemble_.set_counter(path, static_cast<std::int32_t>(next));
}

/// @returns whether the path is gone.
bool fault_injector::remove_all(const std::string& path) {
  auto all = nodes(path);
  if (random().coin()) std::reverse(all.begin(), all.end());
  for (const auto& each : all) remove(each);
  return ensemble_.remove(path) == detail::reply_code::ok;
}

/// Others create the path again: the first number is theirs, and so is the lock, for a while.
void fault_injector::take_over(const std::string& path) {
  ensemble_.create_container(path);
  const auto session = ensemble_.foreign_session(std::chrono::hours{24});
  takeovers_.push_back(path + "/other" + std::to_string(takeovers_.size()) + "-lock-0000000000");
  ensemble_.create(takeovers_.back(), {}, session);
  ensemble_.time().after(random().between(1ms, plan().longest_takeover),
                         [this, session] { ensemble_.expire(session); });
}

void fault_injector::ask_to_release() {
  if (const auto node = any_node(any_path()); !node.empty()) {
    ensemble_.change(node, std::string{detail::release_request});
  }
}

void fault_injector::lose() {
  const auto server = static_cast<unsigned>(random().below(ensemble_.servers()));
  if (const auto node = any_node(any_path()); !node.empty()) {
    ensemble_.server(server).lose_removal(ensemble_.paths().intern(node));
  }
}

void fault_injector::limit() {
  const auto& path = any_path();
  ensemble_.limit_nodes(path, 1 + ensemble_.children(path).size() + random().below(2));
  ensemble_.time().after(random().between(1ms, plan().longest_quota), [this] { ensemble_.lift_quotas(); });
}

/// Deletions pass.
void fault_injector::limit_requests() {
  ensemble_.limit_requests(200 + random().below(200));
  ensemble_.time().after(random().between(1ms, plan().longest_oversize), [this] { ensemble_.limit_requests(0); });
}

void fault_injector::intrude() {
  ensemble_.create(any_path() + "/" + foreign_names[random().below(foreign_names.size())]);
}

}  // namespace latchkey::testing
