// SPDX-License-Identifier: Apache-2.0
// Of a history: what its grants are like.
#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "recipes/rules.hpp"
#include "simulation/history.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;
using detail::contender_kind;

namespace {

constexpr auto no_grant = std::numeric_limits<std::size_t>::max();

}  // namespace

/// @returns those that have just been granted to it, and as what.
std::vector<std::pair<unsigned, contender_kind>> history::locks_of(const actor& who) const {
  const auto& members = who.object->handle.settings().members;
  if (members.empty()) return {{who.object->lock, who.mode}};
  std::vector<std::pair<unsigned, contender_kind>> all;
  for (const auto& each : members) all.emplace_back(static_cast<unsigned>(each.path.back() - 'a'), each.kind);
  if (who.object->handle.settings().family == lock_family::any) all = {all[who.object->handle.index()]};
  return all;
}

void history::begin_grant(actor& who) {
  auto& random = time_.random();
  auto& object = *who.object;
  const auto before = who.what == wish::downgrade ? std::optional{who.grant_number} : std::nullopt;
  who.held = who.awaits ? who.own.grant() : object.handle.current(who.fiber, who.mode);
  who.nodes.clear();
  who.grant_number = log_.grants.size();
  for (const auto& [lock, kind] : locks_of(who)) record_grant(who, lock, kind, before);
  const bool hunted = faults_until_ > time_.now() && random.chance(plan_.hunted);
  const auto hold = hunted ? plan_.longest_hold : random.between({}, plan_.longest_hold);
  const auto interest = random.below(8);
  if (interest < 2) who.held.stop_token();  // somebody wants to be told
  if (interest == 2) who.held.asked_to_release();
  if (interest == 3) who.held.stop_token(object.handle.client().core()->lease_keeper().longest_warning());
  const bool downgrade = who.mode == contender_kind::write && !who.awaits && random.chance(object.plan->downgrades);
  const bool commits = plan_.commits > 0 && random.chance(plan_.commits);
  if (commits) commit_later(who);
  const bool releases = plan_.commits > 0 && !downgrade && random.chance(plan_.commits);
  as_user(object.handle.client(), hold, [this, &who, downgrade, releases] {
    if (downgrade) return begin_downgrade(who);
    releases ? commit_and_unlock(who) : unlock(who);
  });
  if (hunted) hunt(who);
  if (plan_.ambushed > 0 && faults_until_ > time_.now() && random.chance(plan_.ambushed)) ambush(object.lock);
}

void history::record_grant(actor& who, unsigned lock, contender_kind kind, std::optional<std::size_t> writer) {
  auto& object = *who.object;
  grant_record grant;
  grant.lock = lock;
  grant.client = object.client_number;
  grant.call = who.call_number;
  grant.kind = kind;
  grant.fence = who.held.fence();
  grant.granted = grant.last_valid = time_.steps();
  grant.granted_at = grant.last_valid_at = time_.now();
  if (who.awaits)
    grant.granted_at = detail::grant_state::of(who.held)->since();  // a moment before its result was taken
  grant.held_from = time_.resumes_at(object.handle.client().process());
  grant.turns = object.handle.settings().turns;
  grant.permits = log_.calls[who.call_number].permits;
  grant.of = object.handle.settings().permits;
  grant.max_hold = object.handle.settings().max_hold;
  grant.downgraded_from = writer;
  if (object.handle.settings().family == lock_family::robust) {
    grant.robust = true;
    if (const auto dead = object.handle.abandoned()) grant.told_of = dead->fence;
  }
  const auto* mine = queues_.at(lock, grant.fence.czxid);
  const auto* const session = object.handle.client().connector().latest()->session();
  const bool of_group = !object.handle.settings().members.empty();  // its token may be one that older nodes take, too
  if (mine) {
    const bool of_session = !of_group || (session && mine->session == session->id);
    const auto& reaper = object.handle.client().core()->reaper();
    if (!of_session || reaper.removes(ensemble_.paths().text(mine->node))) mine = nullptr;
  }
  // Of a node that an operator has deleted nobody knows which place it was: it counts as one of its own.
  grant.place = mine ? mine->position : -static_cast<std::int64_t>(log_.grants.size()) - 1;
  grant.node_missing = !mine;
  look_at_queue(who, grant, mine);
  who.nodes.push_back(mine ? mine->node : 0);
  log_.grants.push_back(grant);
  if (listener_) {
    tell(fmt::format("client {} is granted lock {} as caller {}, {}: {}", grant.client, grant.lock, who.fiber,
                     to_string(grant.kind), to_string(grant.fence)));
  }
}

/// The ensemble itself knows whose turn it is, and who has been kept waiting for long.
void history::look_at_queue(const actor& who, grant_record& grant, const queued_node* mine) {
  const auto position = grant.place;
  const auto session = mine ? mine->session : 0;
  const auto& settings = who.object->handle.settings();
  const auto known_since = [&] {
    const auto first = std::find_if(log_.grants.begin(), log_.grants.end(), [&](const auto& each) {
      return each.lock == grant.lock && each.place == position && each.kind == grant.kind;
    });
    const auto begun = first == log_.grants.end() ? time_.now() : first->granted_at;
    return std::max(begun, time_.resumed_at(who.object->handle.client().process()));
  };
  auto patience = plan_.noticed_after;
  if (grant.kind == contender_kind::read) patience += settings.share_for;
  std::optional<time_point> base;
  bool told = false;
  for (const auto& each : queues_.of(grant.lock)) {
    const auto path = ensemble_.paths().text(each.node);
    const bool is_leaving = each.session == session && who.object->handle.client().core()->reaper().removes(path);
    if (each.position < position && detail::blocks(each.kind, grant.kind)) {
      // A place that one of ours has given up may be there for a little longer: nobody of ours need wait for that.
      const bool used = std::any_of(actors_.begin(), actors_.end(), [&](const auto& other) {
        return other->rests_on(each.node) && other->held.valid_until() > time_.now();
      });
      if (is_leaving && !used) continue;
      // Of others, too, if it has been told.
      if (network_.released(detail::last_component(path))) {
        told = true;
        continue;
      }
      if (plan_.direct > 0 && !used && is_given_up(path)) continue;
      ++grant.overtaken;
      if (listener_) tell("that overtakes " + path);
    }
    if (grant.downgraded_from || is_leaving) continue;  // nobody waits at it any more
    if (each.position <= position || !detail::blocks(grant.kind, each.kind)) continue;
    if (!base) base = known_since();
    if (std::max(each.since, *base) + patience < time_.now()) grant.kept_waiting.push_back(each.position);
  }
  if (!told) return;
  ++told_;
  // (All keys of a client are handed off in one way, which these settings do not say.)
  if (settings.how == hand_off::direct_then_sync && tables_.empty()) {
    grant.sees_old_data = !sees_new_data(who.object->handle.client(), grant.lock);
  }
}

/// @returns whether the client's server, if it has one, has the data of the lock as the leader has it: only holders write
/// it. (A ticket may be granted during an outage; the next server has all that the client has heard of. What the client
/// itself has written last is ahead of its reads.)
bool history::sees_new_data(simulated_client& client, unsigned lock) const {
  const auto* const session = client.connector().latest();
  const auto* const server = session->server();
  const auto data = ensemble_.paths().find(data_path(lock));
  const auto* const newest = ensemble_.leader().tree().find(*data);
  return !server || server->tree().find(*data)->mzxid == newest->mzxid ||
         ensemble_.log()[newest->data].session == session->session()->id;
}

/// A neighbour of its own client had the lock after it: then only the last of them tells others.
bool history::is_given_up(const std::string& path) const {
  return std::any_of(clients_.begin(), clients_.end(), [&](const auto& each) {
    const auto& reaper = each->core()->reaper();
    return reaper.removes(path) && !reaper.binds(path);
  });
}

void history::begin_downgrade(actor& who) {
  who.what = wish::downgrade;
  call_record call;
  call.entered = time_.steps();
  begin(who, call, [&] { return who.object->handle.downgrade(who.fiber); });
}

/// Cuts the server off while its leader has not heard of the newest touches; and the client, too, so that it cannot go
/// to another one in time.
void history::hunt(const actor& who) {
  auto* const connection = who.object->handle.client().connector().latest();
  const auto within = time_.random().below(4) != 0 ? plan_.weather.tick / 2 : plan_.timeout;
  time_.after(time_.random().between({}, within), [this, connection] {
    for (unsigned i = 0; i < ensemble_.servers(); ++i) {
      if (ensemble_.server(i).is_cut()) return;
    }
    if (time_.now() > faults_until_ || !connection->server()) return;
    tell("a hunter strikes");
    ensemble_.cut_server(connection->server()->number(), time_.random().between(plan_.timeout / 2, plan_.timeout * 2),
                         time_.random().between(1ms, 500ms));
    if (time_.random().below(4) != 0)
      connection->open_hole(time_.random().between(plan_.timeout / 2, plan_.timeout * 2));
  });
}

/// A process that was stopped ends what has lasted too long when it runs again.
void history::look_at_hold(const actor& who) {
  auto& grant = log_.grants[who.grant_number];
  if (grant.max_hold == duration::zero()) return;
  if (!grant.ended_at && who.held.loss() == loss_reason::held_too_long) {
    grant.ended_at = time_.resumes_at(who.object->handle.client().process());
  }
  const auto resumed = time_.resumed_at(who.object->handle.client().process());
  const bool is_valid = who.held.valid_until() > time_.now();
  if (is_valid && time_.now() > std::max(grant.held_from + grant.max_hold, resumed) &&
      time_.resumes_at(who.object->handle.client().process()) <= time_.now()) {
    grant.outstayed = true;
  }
}

/// However little is known to a client: its grant ends before its node does.
void history::on_node_gone(path_id node) {
  for (const auto& each : actors_) {
    for (std::size_t i = 0; i < each->nodes.size(); ++i) {
      if (each->nodes[i] == node && each->held.valid_until() > time_.now()) {
        log_.grants[each->grant_number + i].outlived_node = true;
      }
    }
  }
}

void history::on_node_replaced(path_id writer, path_id reader) {
  for (const auto& each : actors_) {
    std::replace(each->nodes.begin(), each->nodes.end(), writer, reader);
  }
}

// Operators ----------

void history::ambush(unsigned lock) {
  const auto patience = time_.random().between({}, detail::own_nodes::youth * 2);
  time_.after(patience, [this, path = lock_path(lock)] {
    if (faults_until_ <= time_.now()) return;
    time_.random().coin() ? faults_->operate_on(path) : faults_->seize(path);
  });
}

void history::observe_operators() {
  const auto& deleted = faults_->deleted();
  for (; deletions_seen_ < deleted.size(); ++deletions_seen_) {
    const auto& [node, at] = deleted[deletions_seen_];
    const auto* const known = queues_.known(node);
    if (!known) continue;
    if (const auto client = client_of(known->session)) deletions_.add(queues_.lock_of(*known), *client, node, at);
  }
  deletions_.observe(time_.now(), [this](unsigned client) { return reaches_leader(client); });
  observe_takeovers();
}

/// Others who hold the lock are of the history, too.
void history::observe_takeovers() {
  const auto& nodes = faults_->takeovers();
  while (takeovers_.size() < nodes.size()) {
    const auto* const known = queues_.known(nodes[takeovers_.size()]);
    if (!known) {  // the turns of a semaphore: that is no permit
      takeovers_.push_back(no_grant);
      continue;
    }
    call_record call;
    call.lock = queues_.lock_of(*known);
    call.client = call.object = std::numeric_limits<unsigned>::max() - static_cast<unsigned>(takeovers_.size());
    call.in_turn = false;
    call.entered = time_.steps();
    call.entered_at = call.finished_at = time_.now();
    call.what = call_record::outcome::granted;
    grant_record grant;
    grant.lock = call.lock;
    grant.client = call.client;
    grant.of = plan_.locks[call.lock].settings.permits;
    grant.call = log_.calls.size();
    grant.fence = {known->position, 0};
    grant.place = known->position;
    grant.granted = time_.steps();
    grant.granted_at = time_.now();
    takeovers_.push_back(log_.grants.size());
    log_.calls.push_back(call);
    log_.grants.push_back(grant);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (takeovers_[i] == no_grant) continue;
    auto& grant = log_.grants[takeovers_[i]];
    if (grant.unlocked != grant_record::not_unlocked) continue;
    if (ensemble_.czxid(nodes[i]) == grant.fence.czxid) {
      grant.last_valid = time_.steps();
      grant.last_valid_at = time_.now();
    } else {
      grant.unlocked = time_.steps();
    }
  }
}

std::optional<unsigned> history::client_of(std::int64_t session) const {
  for (unsigned i = 0; i < clients_.size(); ++i) {
    const auto* const connection = clients_[i]->connector().latest();
    if (connection && connection->session() && connection->session()->id == session) return i;
  }
  return std::nullopt;
}

/// Whether nothing is between a client and the leader but the weather. When a connection has ended with the read of a node,
/// it is sent again once a second handle has asked the servers whether they take as much.
bool history::reaches_leader(unsigned client) const {
  const auto* const connection = clients_[client]->connector().latest();
  return connection && !clients_[client]->core()->session().asks_for_limit() && connection->connected() &&
         connection->server() && connection->server()->accepts_clients() &&
         connection->delayed_until() <= time_.now() && time_.resumes_at(clients_[client]->process()) <= time_.now();
}

/// What rests on a node, as a writer or as the reader that took its place.
void history::excuse_grants() {
  for (auto& each : log_.grants) {
    const auto is_own = [&](const std::string& node) { return queues_.belongs(node, each.fence.czxid); };
    each.excused = deletions_.of(each.lock, each.client, is_own);
  }
}

}  // namespace latchkey::testing
