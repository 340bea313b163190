// SPDX-License-Identifier: Apache-2.0
#include "simulation/fake_server.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace latchkey::testing {

using detail::watch_event;

fake_server::fake_server(simulation& time, const path_table& paths, fake_leader& leader, const fault_plan& plan,
                         unsigned number)
    : time_{time}, paths_{paths}, leader_{leader}, plan_{plan}, number_{number} {
  // The servers do not ping at the same time.
  time_.after(time_.random().between({}, plan_.tick / 2), [this] { send_ping(); });
}

// The log

void fake_server::on_commit() {
  const auto& log = leader_.log();
  if (log.size() > 1 && log[log.size() - 2].continues) return due_.push_back(due_.back());
  const auto due = time_.now() + std::max(plan_.lag.draw(time_.random()), own_lag_.draw(time_.random()));
  due_.push_back(due_.empty() ? due : std::max(due, due_.back()));
  schedule();
}

void fake_server::schedule() {
  if (scheduled_ || due_.empty() || is_cut_) return;
  scheduled_ = true;
  const bool held = holds_back(direction::from_leader);
  time_.at(held ? std::max(due_.front(), held_until(direction::from_leader)) : due_.front(), [this] {
    scheduled_ = false;
    apply_due();
    schedule();
  });
}

void fake_server::apply_due() {
  if (is_cut_ || holds_back(direction::from_leader)) return;
  const auto before = applied_;
  while (!due_.empty() && due_.front() <= time_.now()) {
    if (!from_leader_.empty() && from_leader_.front().position <= applied_) {
      receive_next();  // it was sent before this commit
    } else {
      apply_next();
    }
  }
  if (applied_ == before) return;
  const auto clients = clients_;  // some may leave
  for (auto* const client : clients) client->on_progress();
}

void fake_server::catch_up(std::size_t position) {
  if (is_cut_ || holds_back(direction::from_leader)) return;
  for (std::size_t i = 0; i < due_.size() && applied_ + i < position; ++i) due_[i] = time_.now();
  apply_due();
}

void fake_server::apply_next() {
  bool continues = true;
  const bool alone = !leader_.log()[applied_].continues;  // of several, all would be lost
  while (continues) {
    due_.pop_front();
    const auto& what = leader_.log()[applied_];
    const bool lost = alone && loses(what);
    if (!lost) tree_.apply(what, applied_, paths_);
    ++applied_;
    continues = what.continues;
    if (!lost) fire_events(what);
  }
}

// Watches

void fake_server::fire_events(const commit& what) {
  switch (what.kind) {
    case commit_kind::created:
      return fire(child_watches_, paths_.parent(what.path), watch_event::children_changed);
    case commit_kind::changed:
      return fire(data_watches_, what.path, watch_event::changed);
    case commit_kind::removed:
      return fire_removed(what.path);
    case commit_kind::session_over:
      for (const auto path : what.gone) fire_removed(path);
      for (auto* const client : std::vector<server_side*>{clients_}) {
        if (client->session() && client->session()->id == what.session) client->on_server_closes();
      }
      return;
    case commit_kind::session_opened: {
      auto& opened = leader_.session(what.session);
      return touch(opened, opened.timeout);  // commitSession, on every server
    }
    case commit_kind::checked:
    case commit_kind::failed:
      return;
  }
}

/// Who watches both data and children of the node hears of it once.
void fake_server::fire_removed(path_id path) {
  auto told = data_watches_.extract(path);
  if (unheard_.erase(path) != 0) told = {};
  if (const auto children = child_watches_.extract(path)) {
    for (auto* const client : children.mapped()) {
      const bool both = told && std::find(told.mapped().begin(), told.mapped().end(), client) != told.mapped().end();
      if (!both) client->on_event(watch_event::deleted, path);
    }
  }
  if (told) {
    for (auto* const client : told.mapped()) client->on_event(watch_event::deleted, path);
  }
  fire(child_watches_, paths_.parent(path), watch_event::children_changed);
}

void fake_server::fire(watch_table& table, path_id path, watch_event event) {
  const auto told = table.extract(path);
  if (!told) return;
  for (auto* const client : told.mapped()) client->on_event(event, path);
}

void fake_server::watch(watch_kind kind, path_id path, server_side& client) {
  auto& watchers = (kind == watch_kind::data ? data_watches_ : child_watches_)[path];
  if (std::find(watchers.begin(), watchers.end(), &client) == watchers.end()) watchers.push_back(&client);
}

std::size_t fake_server::watches() const noexcept {
  std::size_t sum = 0;
  for (const auto* const table : {&data_watches_, &child_watches_}) {
    for (const auto& [path, watchers] : *table) sum += watchers.size();
  }
  return sum;
}

void fake_server::detach(server_side& client) {
  std::erase(clients_, &client);
  for (auto* const table : {&data_watches_, &child_watches_}) {
    for (auto at = table->begin(); at != table->end();) {
      std::erase(at->second, &client);
      at = at->second.empty() ? table->erase(at) : std::next(at);
    }
  }
}

// The leader

void fake_server::touch(ensemble_session& session, duration timeout) {
  if (is_leader_ && reaches_leader()) return leader_.touch(session, timeout);
  session.touched_at[number_] = timeout;
}

/// Every half tick.
void fake_server::send_ping() {
  time_.after(plan_.tick / 2, [this] { send_ping(); });
  ping_is_due_ = true;
  send_due_ping();
}

void fake_server::send_due_ping() {
  const auto again = leader_.pings_stopped_until();
  if (!ping_is_due_) return;
  if (time_.now() < again) return time_.at(again, [this] { send_due_ping(); });
  ping_is_due_ = false;
  if (reaches_leader() && !is_leader_) send_from_leader(leader_.log().size(), [this] { answer_ping(); });
}

void fake_server::answer_sync(std::size_t position, std::function<void()> arrived) {
  send_from_leader(position, [this, position, arrived = std::move(arrived)] {
    catch_up(position);
    arrived();
  });
}

void fake_server::send_from_leader(std::size_t position, std::function<void()> arrived) {
  const auto sent = time_.now();
  from_leader_.push_back({sent, position, std::move(arrived)});
  time_.after(plan_.network.draw(time_.random()), [this, sent] { receive(sent); });
}

/// What is held back, or cut off, arrives when the link is there again.
void fake_server::receive(time_point sent_by) {
  if (is_cut_ || holds_back(direction::from_leader)) return;
  while (!from_leader_.empty() && from_leader_.front().sent <= sent_by) receive_next();
}

void fake_server::receive_next() {
  const auto arrived = std::move(from_leader_.front().arrived);
  from_leader_.pop_front();
  arrived();
}

/// With the sessions that have sent something since the last one (Learner.ping, LearnerSessionTracker).
void fake_server::answer_ping() {
  touches answer{time_.now(), {}};
  for (const auto& session : leader_.sessions()) {
    const auto timeout = std::exchange(session->touched_at[number_], duration::zero());
    if (timeout > duration::zero()) answer.sessions.emplace_back(session.get(), timeout);
  }
  const auto sent = answer.sent;
  touches_.push_back(std::move(answer));
  time_.after(plan_.network.draw(time_.random()), [this, sent] { deliver_touches(sent); });
}

void fake_server::deliver_touches(time_point sent_by) {
  if (!reaches_leader() || holds_back(direction::to_leader)) return;
  while (!touches_.empty() && touches_.front().sent <= sent_by) {
    for (const auto& [session, timeout] : touches_.front().sessions) leader_.touch(*session, timeout);
    touches_.pop_front();
  }
}

void fake_server::forwarding(time_point arrived) {
  if (!is_leader_) deliver_touches(arrived);
}

void fake_server::hold_back(direction way, duration length) {
  if (is_leader_) return;
  auto& until = held_until_[static_cast<std::size_t>(way)];
  until = std::max(until, time_.now() + length);
  time_.at(until, [this, way] { deliver_held_back(way); });
}

void fake_server::deliver_held_back(direction way) {
  if (holds_back(way)) return;
  if (way == direction::from_leader) {
    receive(time_.now());
    apply_due();
    scheduled_ = false;  // for later, if it was held back for longer
    schedule();
  } else {
    deliver_touches(time_.now());
    const auto clients = clients_;
    for (auto* const client : clients) client->on_progress();
  }
}

void fake_server::cut(duration length) {
  is_cut_ = true;
  is_deposed_ = is_leader_;
  const auto number = ++cuts_;
  if (length > plan_.sync_limit) {
    time_.after(plan_.sync_limit, [this, number] {
      if (is_cut_ && number == cuts_) disconnect_clients();
    });
  }
  time_.after(length, [this, number] { end_cut(number); });
}

void fake_server::end_cut(std::uint64_t cut) {
  if (is_cut_ && cut == cuts_) heal();
}

void fake_server::heal() {
  for (const auto way : {direction::from_leader, direction::to_leader}) {
    if (!holds_back(way)) continue;
    held_until_[static_cast<std::size_t>(way)] = {};
    deliver_held_back(way);
  }
  if (!std::exchange(is_cut_, false)) return;
  is_deposed_ = false;
  if (std::exchange(missed_election_, false)) on_election();
  receive(time_.now());
  answer_ping();  // the leader's pings have waited on the wire, and are answered at once
  deliver_touches(time_.now());
  schedule();
  const auto clients = clients_;
  for (auto* const client : clients) client->on_progress();
}

/// A server that has lost its leader serves no client before it has found the next one, and has forgotten all touches.
void fake_server::on_election() {
  if (is_cut_) {
    missed_election_ = true;
    return;
  }
  disconnect_clients();
  from_leader_.clear();
  touches_.clear();
  for (const auto& session : leader_.sessions()) session->touched_at[number_] = duration::zero();
}

void fake_server::disconnect_clients() {
  is_deposed_ = false;
  const auto clients = clients_;
  for (auto* const client : clients) client->on_server_closes();
}

}  // namespace latchkey::testing
