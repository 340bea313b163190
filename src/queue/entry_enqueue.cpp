// SPDX-License-Identifier: Apache-2.0
/// How an entry gets into the queue, and how it recovers when the reply was lost.

#include <algorithm>
#include <functional>
#include <utility>

#include "base/node_name.hpp"
#include "base/path.hpp"
#include "base/unique_id.hpp"
#include "queue/queue_entry.hpp"
#include "queue/record.hpp"
#include "queue/refusal.hpp"

namespace latchkey::detail {
// Try ----------

void queue_entry::peek() {
  become(state::asking);
  through().submit({.kind = operation::children, .path = *path_},
                   unless_stale([](queue_entry& self, const reply& listed) { self.on_peeked(listed); }));
}

void queue_entry::on_peeked(const reply& listed) {
  switch (listed.code) {
    case reply_code::ok:
      if (patience_ == patience::once && would_wait(listed.children)) return refuse();
      if (!refuse_behind_own(listed.children)) enqueue();
      return;
    case reply_code::no_node:
      return enqueue();
    default:
      if (!explain(listed.code)) resume();
  }
}

/// Not for our own nodes that are being deleted.
bool queue_entry::would_wait(const std::vector<std::string>& children) const {
  if (!is_held(children, *kind_)) return false;
  auto left = core_->reaper().remaining(*path_, children);
  for (const auto& name : core_->reaper().refused().among(*path_, left)) std::erase(left, name);
  return is_held(left, *kind_);
}

// Enqueue ----------

void queue_entry::enqueue() {
  become(state::asking);
  create_and_list();
}

/// In one round trip: requests of a session are served in order, so the list shows the node.
void queue_entry::create_and_list() {
  const bool alone = !neighbours_ || !neighbours_->any();
  if (!alone) neighbours_->watch_parent(through(), *path_);
  submit_create(creation(), 0, [alone](queue_entry& self) {
    if (!alone) self.on_enqueued(nullptr);  // its number tells whom to wait for
  });
  if (alone) list_along();
}

request queue_entry::creation() {
  forget_node();
  created_ = reply_code::not_sent;
  owing_ = !core_->reaper().idle();
  prefix_ = new_prefix();
  return {.kind = operation::create,
          .path = join(*path_, prefix_),
          .data = record(),
          .mode = create_mode::ephemeral_sequential};
}

std::string queue_entry::record() const {
  auto made = listener_->record(core_->options().label, *kind_);
  const auto advert = peers() ? peers()->advert(prefix_) : std::nullopt;
  return advert ? with_advert(std::move(made), *advert) : made;
}

std::string queue_entry::new_prefix() const {
  return entry_prefix(peers() ? peers()->unique_id(*path_) : unique_id(), *kind_);
}

/// @param along the deletion that goes along, for the reaper; 0: none
void queue_entry::submit_create(request what, std::uint64_t along, std::function<void(queue_entry&)> then) {
  const auto self = shared_from_this();
  // The reaper relies on one that it has handed something over to.
  const auto left = [self, step = step_, along] { return self->step_ != step && along == 0; };
  auto answered = [self, step = step_, prefix = prefix_, along, then = std::move(then)](reply& created) {
    if (self->neighbours_) self->neighbours_->create_answered();
    if (along != 0) self->core_->reaper().handed_over(along, created.code);
    if (!created.paths.empty()) created.path = std::move(created.paths.front());
    if (self->on_created(step, prefix, created)) then(*self);
  };
  through().submit(std::move(what), while_wanted{left, std::move(answered)});
  if (neighbours_) neighbours_->create_sent();
}

void queue_entry::list_along() {
  through().submit({.kind = operation::children, .path = *path_},
                   unless_stale([](queue_entry& self, const reply& listed) { self.on_enqueued(&listed); }));
}

/// The reply is heard even when the entry has been left meanwhile: a node that was made must go.
/// @param step in which the create was sent. @param prefix that it was sent with
/// @returns whether the entry has not been left
bool queue_entry::on_created(std::uint64_t step, const std::string& prefix, reply& created) {
  if (step_ != step) {
    const bool is_mine = !spared() || last_component(created.path) != spared_;
    if (created.code == reply_code::ok && is_mine) core_->reaper().remove(std::move(created.path));
    if (created.code == reply_code::unknown_outcome) core_->reaper().remove_unknown(*path_, prefix);
    return false;
  }
  created_ = created.code;
  create_lost_ = created.code == reply_code::unknown_outcome;
  if (created.code != reply_code::ok) return true;
  node_ = std::move(created.path);
  czxid_ = created.stat.czxid;
  prefix_ = {};
  core_->own_nodes().add(*this);
  return true;
}

/// @param listed what was sent with the create; nothing when neighbours are there
void queue_entry::on_enqueued(const reply* listed) {
  switch (created_) {
    case reply_code::ok:
      if (!take_number()) return exhausted();
      if (!creates_.begun()) core_->open_parents().look(*path_);
      creates_.end();
      if (!listed) return wait_for_neighbour();
      return decide(*listed);
    case reply_code::node_exists:
      return exhausted();
    case reply_code::no_node:
    case reply_code::quota_exceeded:
      return create_again();
    default:
      if (!explain(created_)) resume();
  }
}

/// @returns whether the number is one that can be compared: the counter sticks beyond, and equal numbers have no order.
bool queue_entry::take_number() {
  const auto number = kind_->number(last_component(node_));
  if (!number || *number > last_number) return false;
  if (neighbours_) neighbours_->enter(*this, *number, through());
  if (auto* const others = peers()) others->waiting().add(std::string{last_component(node_)});
  if (!std::exchange(queued_, true)) listener_->on_queued();
  return true;
}

/// The create once more, after a pause, with the parents if they are missing: all in one round trip.
void queue_entry::create_again() {
  const auto pause = pause_before_next(created_);
  if (!pause) return;
  const bool missing = created_ == reply_code::no_node;
  become(state::asking);
  if (missing && neighbours_) neighbours_->forget();
  const auto create = [missing](queue_entry& self) {
    if (!self.through().connected()) return self.resume();
    std::set<std::string> asked;
    if (missing) self.submit_parents(asked);
    self.create_and_list();
  };
  if (*pause == duration::zero()) return create(*this);
  // Weak: a timer that never runs, as the client has been closed meanwhile, must not keep the entry and its client.
  core_->monitor().in(*pause, detail::unless_stale{weak_from_this(), &queue_entry::step_, create});
}

/// A container may be reaped between its creation and ours. Where there is room for one node only, that of the former
/// place counts until the leader has applied its deletion (HAZARDS S22), which may be after the answer.
/// @returns nothing if it has failed instead
std::optional<duration> queue_entry::pause_before_next(reply_code why) {
  const bool missing = why == reply_code::no_node;
  if (missing && parent_failure_) {
    fail(std::move(*std::exchange(parent_failure_, nullptr)));
    return std::nullopt;
  }
  const auto pause = missing || owing_ || !creates_.begun() ? creates_.next() : std::nullopt;
  if (pause) return missing ? *pause : std::max(*pause, repetition::first_pause);
  if (missing) {
    fail(always_missing());
  } else {
    explain(why);
  }
  return std::nullopt;
}

/// @param asked what other entries have asked for in the same round trip
void queue_entry::submit_parents(std::set<std::string>& asked) {
  create_path(*core_, *path_, unless_stale([](queue_entry& self, const failure& why) {
    if (!self.parent_failure_) self.parent_failure_ = std::make_unique<failure>(why);
  }),
              asked);
}

// After a lost reply ----------

/// The create may still be on its way to the leader when another server answers: only after a sync does a list tell.
void queue_entry::recover() {
  become(state::asking);
  through().submit({.kind = operation::sync, .path = *path_}, [](const reply&) {});
  through().submit({.kind = operation::children, .path = *path_},
                   unless_stale([](queue_entry& self, const reply& listed) { self.on_recovered(listed); }));
}

void queue_entry::on_recovered(const reply& listed) {
  if (listed.code == reply_code::no_node) return queue_again();
  if (listed.code != reply_code::ok) {
    if (!explain(listed.code)) resume();
    return;
  }
  const auto mine = std::find_if(listed.children.begin(), listed.children.end(),
                                 [this](const std::string& name) { return name.starts_with(prefix_); });
  if (mine == listed.children.end()) return queue_again();
  through().submit(
      {.kind = operation::get, .path = join(*path_, *mine)},
      unless_stale([path = join(*path_, *mine)](queue_entry& self, const reply& read) { self.adopt(path, read); }));
}

/// A node is ours only if it belongs to the session of now.
void queue_entry::adopt(const std::string& found, const reply& read) {
  if (read.code == reply_code::no_node) return queue_again();
  if (read.code != reply_code::ok) {
    if (!explain(read.code)) resume();
    return;
  }
  if (read.stat.ephemeral_owner != through().info().id) {
    core_->reaper().remove(found);
    return queue_again();
  }
  create_lost_ = false;
  prefix_ = {};
  node_ = found;
  czxid_ = read.stat.czxid;
  core_->own_nodes().add(*this);
  creates_.end();
  if (!take_number()) return exhausted();
  look();
}

}  // namespace latchkey::detail
