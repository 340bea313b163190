// SPDX-License-Identifier: Apache-2.0
/// How an entry in the queue waits for its turn.

#include <string>
#include <utility>
#include <vector>

#include "base/path.hpp"
#include "queue/queue_entry.hpp"

namespace latchkey::detail {
namespace {

/// From this many on ahead (some 60 KB of names), asking for one is so much cheaper than listing them all that it is
/// worth the round trip which it costs when all have left.
constexpr std::uint32_t long_line = 1024;

}  // namespace

// Wait ----------

void queue_entry::look() {
  ++step_;
  forget_watch();
  state_ = state::looking;
  identify();
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

void queue_entry::decide(const reply& listed) {
  if (listed.code == reply_code::no_node) return queue_again();
  if (listed.code != reply_code::ok) {
    if (!explain(listed.code)) resume();
    return;
  }
  if (refuse_behind_own(listed.children)) return;
  auto verdict = admit(listed.children, last_component(node_));
  std::vector<std::string> remaining;
  if (verdict.what == admission::verdict::wait && core_->reaper().removes(join(*path_, verdict.blocker))) {
    remaining = core_->reaper().remaining(*path_, listed.children);
    verdict = admit(remaining, last_component(node_));
  }
  switch (verdict.what) {
    case admission::verdict::gone:
      return queue_again();  // an operator has deleted it
    case admission::verdict::granted:
      return admitted(verdict);
    case admission::verdict::wait:
      break;
  }
  if (patience_ == patience::once) return refuse();
  if (auto* const ahead = neighbour(verdict.blocker)) return follow(*ahead);
  others_ = std::make_unique<others>(others{.name = std::string{verdict.next_blocker}, .count = verdict.blockers});
  watch(std::string{verdict.blocker});
}

/// One watch, on one node. `get`, since an `exists` watch on a missing node would stay for ever.
void queue_entry::watch(const std::string& blocker) {
  ++step_;
  state_ = state::watching;
  waited_ = true;
  if (!bounds_our_czxid(blocker)) identify();
  through().forget(others_->watch);
  others_->watch = through().submit(
      {.kind = operation::get, .path = join(*path_, blocker)},
      unless_stale([blocker](queue_entry& self, const reply& read) { self.on_watch_set(blocker, read); }),
      [self = shared_from_this(), step = step_, blocker](watch_event event) {
        if (self->step_ == step) self->on_blocker_event(blocker, event);
      });
  delayed();
}

/// @returns whether no contender was created between that one and us.
bool queue_entry::follows_on(std::string_view other) const {
  return parse_contender(other)->number + 1 == parse_contender(last_component(node_))->number;
}

/// @returns whether the moment after its creation serves as that of our own: all other nodes are not younger than the
/// former, or younger than the latter. A reader may be one that was a writer: its number is older than it is.
bool queue_entry::bounds_our_czxid(std::string_view blocker) const {
  return follows_on(blocker) && parse_contender(blocker)->kind != contender_kind::read;
}

void queue_entry::on_watch_set(const std::string& blocker, const reply& read) {
  if (read.code == reply_code::ok) {
    if (czxid_ == 0 && bounds_our_czxid(blocker)) czxid_ = read.stat.czxid + 1;
    return;
  }
  others_->watch = {};
  if (read.code == reply_code::no_node) return on_blocker_gone(blocker);
  if (!explain(read.code)) resume();
}

void queue_entry::on_blocker_event(const std::string& blocker, watch_event event) {
  others_->watch = {};
  if (event == watch_event::deleted) return on_blocker_gone(blocker);
  watch(blocker);  // only its data has changed
}

/// Names ahead only ever disappear, with one exception: a writer that becomes a reader, ours or Curator's, keeps its
/// number.
void queue_entry::on_blocker_gone(const std::string& blocker) {
  const auto gone = parse_contender(blocker);
  const bool may_be_back = kind_ != contender_kind::read && gone->kind == contender_kind::write;
  if (!may_be_back && others_->count == 1) return admitted();
  if (!may_be_back && others_->count > long_line && !others_->name.empty()) {
    --others_->count;
    return watch(std::exchange(others_->name, {}));
  }
  look();
}

// Behind ourselves ----------

/// A node of ours that the ensemble does not let us delete stays until our session ends: who waits behind it would wait
/// for this client itself.
bool queue_entry::refuse_behind_own(const std::vector<std::string>& children) {
  const auto mine = parse_contender(last_component(node_));
  for (const auto& name : core_->reaper().refused(*path_, children)) {
    const auto theirs = parse_contender(name);
    if (!theirs || !blocks(theirs->kind, kind_) || (mine && theirs->number > mine->number)) continue;
    core_->reaper().try_again(join(*path_, name));
    fail(errc::not_authorized, "this client may not delete its earlier entry " + name +
                                   ", which blocks the queue (ZNOAUTH); grant it the permissions c, d and r");
    return true;
  }
  return false;
}

void queue_entry::on_deletion_refused(const std::string& node) {
  if (state_ == state::watching && parent_of(node) == *path_) look_again();
}

// Neighbours ----------

/// The create was sent without a list: see `neighbours`.
void queue_entry::find_neighbour() {
  auto* const ahead = patience_ == patience::once ? nullptr : line_->directly_ahead_of(*number_);
  if (ahead == nullptr || ahead->follower_ != nullptr) return look();
  follow(*ahead);
}

/// @returns the entry of ours whose node this is, unless another one follows it already.
queue_entry* queue_entry::neighbour(std::string_view name) const {
  auto* const found = line_ ? line_->at(parse_contender(name)->number) : nullptr;
  const bool free = found != nullptr && found != this && found->follower_ == nullptr;
  return free && last_component(found->node_) == name ? found : nullptr;
}

/// `ahead`, an entry of ours, will wake this one.
void queue_entry::follow(queue_entry& ahead) {
  ++step_;
  forget_watch();
  state_ = state::following;
  following_ = &ahead;
  ahead.follower_ = this;
}

/// Leaves the line of neighbours: the one behind waits for the one ahead, or is let in.
void queue_entry::step_out() {
  auto* const ahead = std::exchange(following_, nullptr);
  auto* const behind = std::exchange(follower_, nullptr);
  if (number_) line_->leave(*std::exchange(number_, std::nullopt), *this);
  if (ahead != nullptr) ahead->follower_ = behind;
  if (behind == nullptr) return;
  behind->following_ = ahead;
  if (ahead != nullptr || core_->failed()) return;
  if (first_) {
    behind->admitted_by_neighbour();
  } else {
    behind->look_again();
  }
}

/// None of the numbers means anything any more: they are those of a parent that has been deleted.
void queue_entry::forget_line() {
  for (auto* const each : line_->forget_all()) each->lose_neighbours();
}

void queue_entry::lose_neighbours() {
  number_.reset();
  follower_ = nullptr;
  if (std::exchange(following_, nullptr) != nullptr) look_again();
}

/// An operator may have deleted all of it before a node was watched.
void queue_entry::on_parent_gone(neighbours& line) {
  std::vector<std::shared_ptr<queue_entry>> all;
  for (auto* const each : line.forget_all()) {
    each->number_.reset();
    each->following_ = each->follower_ = nullptr;
    all.push_back(each->shared_from_this());
  }
  for (const auto& each : all) {
    if (each->state_ != state::over && !each->node_.empty()) each->on_node_gone();
  }
}

}  // namespace latchkey::detail
