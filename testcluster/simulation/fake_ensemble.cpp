// SPDX-License-Identifier: Apache-2.0
#include "simulation/fake_ensemble.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "simulation/trace.hpp"

namespace latchkey::testing {

using detail::reply_code;

fake_ensemble::fake_ensemble(simulation& time, fault_plan plan, unsigned servers)
    : time_{time}, plan_{plan}, leader_{time, paths_, plan_, [this] {
                                          if (traced()) trace(describe(log().back(), paths_));
                                          for (const auto& server : servers_) server->on_commit();
                                        }} {
  for (unsigned i = 0; i < servers; ++i) {
    servers_.push_back(std::make_unique<fake_server>(time_, paths_, leader_, plan_, i));
  }
  servers_[0]->become_leader(true);
}

// Faults

void fake_ensemble::cut_server(unsigned server, duration length, duration election) {
  auto& cut = *servers_[server];
  const bool was_leader = cut.is_leader();
  if (traced())
    trace(fmt::format("server {} is cut off for {:.3f}s", server, std::chrono::duration<double>(length).count()));
  cut.cut(length);
  if (was_leader && servers_.size() > 1) elect(election);
}

void fake_ensemble::elect(duration length) {
  auto& next = *servers_[time_.random().below(servers_.size())];
  for (const auto& server : servers_) server->become_leader(false);
  const auto chosen = std::find_if(servers_.begin(), servers_.end(), [&](const auto& each) { return !each->is_cut(); });
  auto& leads = next.is_cut() && chosen != servers_.end() ? **chosen : next;
  leads.become_leader(true);
  leads.catch_up(log().size());
  leader_.elect(length);
  if (traced())
    trace(fmt::format("server {} leads, in {:.3f}s", leads.number(), std::chrono::duration<double>(length).count()));
  for (const auto& server : servers_) server->on_election();
}

void fake_ensemble::stall_leader(duration length) {
  if (traced()) trace(fmt::format("the leader stalls for {:.3f}s", std::chrono::duration<double>(length).count()));
  for (const auto& server : servers_) server->hold_back(direction::to_leader, length);
  for (const auto& session : sessions_) {
    if (session->server() && session->server()->is_leader()) session->open_hole(length);
  }
  leader_.stall(length);
}

void fake_ensemble::expire(std::int64_t session) { leader_.end_session(leader_.session(session)); }

void fake_ensemble::lose_data() {
  for (const auto& server : servers_) server->disconnect_clients();
  leader_.lose_data();
  for (const auto& server : servers_) server->catch_up(leader_.log().size());
}

void fake_ensemble::heal() {
  authentication_demanded_ = false;
  largest_request_ = 0;
  plan_ = plan_.without_faults();
  credentials_refused_ = false;
  opens_to_fail_ = 0;
  lift_quotas();
  leader_.resume();
  for (const auto& server : servers_) {
    server->set_lag({});
    server->limit_timeout(duration::max());
    server->heal();
    server->send_due_ping();
  }
  for (const auto& session : sessions_) session->close_hole();
}

bool fake_ensemble::next_open_fails() {
  if (opens_to_fail_ > 0) {
    --opens_to_fail_;
    return true;
  }
  return time_.random().chance(plan_.unresolvable);
}

fake_session& fake_ensemble::add(std::shared_ptr<fake_client> client, std::uint64_t epoch,
                                 detail::connector_listener& listener) {
  return *sessions_.emplace_back(std::make_unique<fake_session>(*this, std::move(client), epoch, listener));
}

// An operator

reply_code fake_ensemble::create(std::string path, std::string data, std::int64_t owner) {
  return leader_.create(owner, std::move(path), std::move(data), false, owner).code;
}

reply_code fake_ensemble::create_container(std::string path) {
  return leader_.create(0, std::move(path), {}, true, 0).code;
}

void fake_ensemble::set_counter(std::string_view path, std::int32_t counter) {
  leader_.set_counter(paths_.intern(path), counter);
}

// What is committed

const fake_node* fake_ensemble::find(std::string_view path) const {
  const auto number = paths_.find(path);
  return number ? leader_.tree().find(*number) : nullptr;
}

std::vector<std::string> fake_ensemble::children(std::string_view path) const {
  std::vector<std::string> names;
  if (const auto* node = find(path)) {
    for (const auto child : node->children) names.emplace_back(paths_.name(child));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::int64_t fake_ensemble::owner(std::string_view path) const {
  const auto* node = find(path);
  return node ? node->owner : 0;
}

std::int64_t fake_ensemble::czxid(std::string_view path) const {
  const auto* node = find(path);
  return node ? node->czxid : 0;
}

std::int32_t fake_ensemble::version(std::string_view path) const {
  const auto* const node = find(path);
  return node ? node->version : -1;
}

std::string fake_ensemble::data(std::string_view path) const {
  const auto* node = find(path);
  return node && node->mzxid != 0 ? log()[node->data].data : std::string{};
}

std::size_t fake_ensemble::watches() const noexcept {
  std::size_t sum = 0;
  for (const auto& server : servers_) sum += server->watches();
  return sum;
}

}  // namespace latchkey::testing
