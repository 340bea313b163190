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
  forget_predecessor();
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
  look_for_foreign_use(*core_, *path_, *kind_, listed.children);
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
      outlook_.listed(0, core_->monitor().now(), queue_pace());
      listener_->on_listed(listed.children);
      return admitted(verdict);
    case admission::verdict::wait:
      break;
  }
  if (patience_ == patience::once) return refuse();
  if (follow(verdict.blocker)) return;
  outlook_.listed(verdict.blockers, core_->monitor().now(), queue_pace());
  wait_behind(std::string{verdict.blocker});
}

bool queue_entry::is_last_of_its_kind(const std::vector<std::string>& children) const {
  if (kind_->exclusive()) return true;  // those behind wait for it
  const auto mine = kind_->number(last_component(node_));
  return std::none_of(children.begin(), children.end(),
                      [&](const std::string& name) { return kind_->number(name) > mine; });
}

/// @param name of the nearest contender ahead (`admission::blocker`)
void queue_entry::wait_behind(const std::string& name) {
  become(state::waiting);
  waited_ = true;
  forget_predecessor();
  predecessor_ = std::make_shared<predecessor>(*core_, *this, path_, *kind_, name, peers());
  predecessor_->await();
  delayed();
}

void queue_entry::on_ahead_gone(bool last) {
  if (state_ != state::waiting) return;
  const auto self = shared_from_this();
  if (last) return admitted();
  look();
}

void queue_entry::on_ahead_unseen(reply_code why) {
  if (state_ != state::waiting) return;
  const auto self = shared_from_this();
  if (!explain(why)) resume();
}

// By datagram ----------

/// After a long wait the lease is not fresh; without this, the entry would wait for a proof when its turn comes. It stays
/// expected until it is granted, waits anew or leaves: also while it reads its own node, once it has been let in. Until
/// then the proofs have one node more.
void queue_entry::on_next() {
  if (state_ == state::waiting) core_->lease_keeper().expect(*this);
}

/// Every contender that must go before this entry has been deleted or is closed: the predecessor itself, those before it,
/// since it was let in alone, and none was listed in between. Right after a reconnect the events of the outage are still
/// to come, perhaps that this entry's own node was deleted: the leader is asked.
void queue_entry::on_ahead_released() {
  if (state_ != state::waiting) return;
  const auto self = shared_from_this();
  if (how_ == hand_off::direct && through().connected() && through().answered()) return admitted_by_release();
  confirm_release();
}

/// Asks a quorum, behind all that the previous holder has written. A `sync` would not do: a leader that has lost its
/// quorum answers it, with old data, until it notices. An answer that is lost with the connection is asked for again after
/// the reconnect. If there is none for another reason, the watch decides.
void queue_entry::confirm_release() {
  if (!predecessor_ || !predecessor_->released() || !through().connected()) return;
  through().submit({.kind = operation::transact, .steps = {{.path = node_}}},
                   unless_stale([](queue_entry& me, const reply& checked) {
                     if (checked.code == reply_code::no_node) return me.on_node_gone();
                     if (checked.code == reply_code::ok) return me.admitted_by_release();
                     if (me.through().connected()) me.predecessor_->on_no_release();
                   }));
}

void queue_entry::admitted_by_release() {
  std::exchange(predecessor_, nullptr)->see_off();
  admitted_by_neighbour();
}

// Behind ourselves ----------

/// A node of ours that the ensemble does not let us delete stays until our session ends: who waits behind it would wait
/// for this client itself.
bool queue_entry::refuse_behind_own(const std::vector<std::string>& children) {
  const auto mine = kind_->number(last_component(node_));
  for (const auto& name : core_->reaper().refused().among(*path_, children)) {
    const auto theirs = rival_of(*kind_, name);
    if (!theirs || (mine && theirs->number > *mine)) continue;
    core_->reaper().refused().try_again(join(*path_, name));
    fail(errc::not_authorized, "this client may not delete its earlier entry " + name +
                                   ", which blocks the queue (ZNOAUTH -102); grant it the permissions c, d and r");
    return true;
  }
  return false;
}

void queue_entry::on_reassessed(const std::string& node) {
  if (state_ == state::waiting && predecessor_ && parent_of(node) == *path_) look_again();
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
  forget_predecessor();
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
