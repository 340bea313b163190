// SPDX-License-Identifier: Apache-2.0
/// How an entry in the queue waits for its turn.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/path.hpp"
#include "queue/foreign_use.hpp"
#include "queue/queue_entry.hpp"

namespace latchkey::detail {

// Wait ----------

void queue_entry::look() {
  become(state::asking);
  forget_watch();
  behind_ = nullptr;
  through().submit({.kind = operation::children, .path = *path_},
                   unless_stale([](queue_entry& self, const reply& listed) { self.decide(listed); }));
}

void queue_entry::look_again() {
  if (through().connected()) {
    look();
  } else {
    await_connection();
  }
}

/// The answer to a transaction does not tell the czxid of our node; the `pzxid` of a list that shows none behind us
/// orders our tokens as well. It is that of the last change among the children: not smaller than our czxid, and smaller
/// than those of all who come later, whose creations change the children once more. (Behind a reader there may be others,
/// which do not wait for it; the token would be theirs, too.)
void queue_entry::decide(const reply& listed) {
  if (listed.code == reply_code::no_node) return queue_again();
  if (listed.code != reply_code::ok) {
    if (!explain(listed.code)) resume();
    return;
  }
  if (peers()) peers()->departures().listed(*path_, listed.children);
  warn_of_foreign_use(*core_, *path_, *kind_, listed.children);
  if (refuse_behind_own(listed.children)) return;
  auto verdict = admit(listed.children, last_component(node_), *kind_);
  // Nor is a node behind that we are about to delete.
  const bool is_last = verdict.what != admission::verdict::gone && verdict.behind == 0;
  if (czxid_ == 0 && is_last && is_last_of_its_kind(listed.children) && !through().is_older(listed.stat.pzxid)) {
    czxid_ = listed.stat.pzxid;
  }
  std::vector<std::string> remaining;
  if (verdict.what == admission::verdict::wait && core_->reaper().removes(join(*path_, verdict.blocker))) {
    remaining = core_->reaper().remaining(*path_, listed.children);
    verdict = admit(remaining, last_component(node_), *kind_);
  }
  switch (verdict.what) {
    case admission::verdict::gone:
      return queue_again();  // an operator has deleted it
    case admission::verdict::granted:
      listener_->on_listed(listed.children);
      return admitted(verdict);
    case admission::verdict::wait:
      break;
  }
  if (patience_ == patience::once) return refuse();
  if (follow(verdict.blocker)) return;
  wait_behind(std::string{verdict.blocker}, verdict.blockers == 1);
}

bool queue_entry::is_last_of_its_kind(const std::vector<std::string>& children) const {
  if (kind_->exclusive()) return true;  // those behind wait for it
  const auto mine = kind_->number(last_component(node_));
  return std::none_of(children.begin(), children.end(),
                      [&](const std::string& name) { return kind_->number(name) > mine; });
}

/// @param name of the nearest contender ahead (`admission::blocker`). @param alone whether no other is ahead
void queue_entry::wait_behind(const std::string& name, bool alone) {
  become(state::waiting);
  waited_ = true;
  forget_watch();
  blocker_ = std::make_shared<blocker>(blocker{.name = name, .watch = {}, .alone = alone});
  if (!subscribe(name)) watch();
  delayed();
}

/// One watch, so no herd. `get`, since an `exists` watch on a missing node would stay for ever.
void queue_entry::watch() {
  // After `see_off` the watch stays behind, and the departure is to be noted though the entry waits no more.
  const auto gone = [core = core_.get(), path = path_, at = blocker_] {
    if (core->peers()) core->peers()->departures().gone(*path, at->name);
  };
  const auto left = [who = shared_from_this(), step = step_] { return who->step_ != step; };
  const auto on_set = [who = shared_from_this(), step = step_, gone](const reply& read) {
    if (read.code == reply_code::no_node) gone();
    if (who->step_ == step) who->on_watch_set(read);
  };
  const auto on_event = [who = weak_from_this(), step = step_, gone](watch_event event) {
    if (event == watch_event::deleted) gone();
    const auto self = who.lock();
    if (self && self->step_ == step) self->on_blocker_event(event);
  };
  blocker_->watch = through().submit({.kind = operation::get, .path = join(*path_, blocker_->name)},
                                     while_wanted{left, on_set}, on_event);
}

void queue_entry::on_watch_set(const reply& read) {
  if (read.code == reply_code::ok) return learn(read);
  blocker_->watch = {};
  if (read.code == reply_code::no_node) return on_blocker_gone();
  if (!explain(read.code)) resume();
}

void queue_entry::on_blocker_event(watch_event event) {
  blocker_->watch = {};
  if (event == watch_event::deleted) return on_blocker_gone();
  watch();  // only its data has changed
}

/// Names ahead only ever disappear, with one exception: an entry that becomes one of another kind keeps its number.
void queue_entry::on_blocker_gone() {
  if (blocker_->alone && !kind_->may_be_back(*rival_of(*kind_, blocker_->name)->kind)) return admitted();
  look();
}

// Behind ourselves ----------

/// A node of ours that the ensemble does not let us delete stays until our session ends: who waits behind it would wait
/// for this client itself.
bool queue_entry::refuse_behind_own(const std::vector<std::string>& children) {
  const auto mine = kind_->number(last_component(node_));
  for (const auto& name : core_->reaper().refused(*path_, children)) {
    const auto theirs = rival_of(*kind_, name);
    if (!theirs || (mine && theirs->number > *mine)) continue;
    core_->reaper().try_again(join(*path_, name));
    fail(errc::not_authorized, "this client may not delete its earlier entry " + name +
                                   ", which blocks the queue (ZNOAUTH -102); grant it the permissions c, d and r");
    return true;
  }
  return false;
}

void queue_entry::on_reassessed(const std::string& node) {
  if (state_ == state::waiting && blocker_ && parent_of(node) == *path_) look_again();
}

// Neighbours ----------

/// The create was sent without a list: see `neighbours`.
void queue_entry::wait_for_neighbour() {
  if (patience_ == patience::once || !neighbours_->follow_directly(*this)) return look();
  become(state::waiting);
}

/// @returns whether it waits for an entry of ours whose node this is.
bool queue_entry::follow(std::string_view name) {
  auto* const ahead = neighbours_ ? neighbours_->at(rival_of(*kind_, name)->number) : nullptr;
  if (!ahead || last_component(static_cast<queue_entry*>(ahead)->node_) != name) return false;
  if (!neighbours_->follow(*this, *ahead)) return false;
  become(state::waiting);
  forget_watch();
  return true;
}

/// Leaves the line of neighbours: the one behind waits for the one ahead, or is let in.
void queue_entry::step_out() {
  auto* const next = neighbours_ ? static_cast<queue_entry*>(neighbours_->leave(*this)) : nullptr;
  if (next == nullptr || core_->failed()) return;
  if (first_) {
    next->admitted_by_neighbour();
  } else {
    next->look_again();
  }
}

}  // namespace latchkey::detail
