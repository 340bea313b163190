// SPDX-License-Identifier: Apache-2.0
/// How an entry gets into the queue, and how it recovers when the reply was lost.

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/node_name.hpp"
#include "base/path.hpp"
#include "queue/queue_entry.hpp"
#include "queue/record.hpp"

namespace latchkey::detail {
namespace {

/// A container parent may be reaped between its creation and ours; not so often.
constexpr unsigned most_parents_made = 20;

}  // namespace

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
  for (const auto& name : core_->reaper().refused(*path_, left)) std::erase(left, name);
  return is_held(left, *kind_);
}

// Enqueue ----------

void queue_entry::enqueue() {
  become(state::asking);
  create_and_list();
}

/// In one round trip: requests of a session are served in order, so the list shows the node.
void queue_entry::create_and_list() {
  const bool alone = !line_ || !line_->anybody();
  if (!alone) line_->watch_parent(through(), *path_);
  submit_create(creation(), 0, [alone](queue_entry& self) {
    if (!alone) self.on_enqueued(nullptr);  // its number tells whom to wait for
  });
  if (alone) list_along();
}

request queue_entry::creation() {
  forget_node();
  created_ = reply_code::not_sent;
  prefix_ = new_prefix();
  return {.kind = operation::create,
          .path = join(*path_, prefix_),
          .data = record(),
          .mode = create_mode::ephemeral_sequential};
}

/// @param along the deletion that goes along, for the reaper; 0: none
void queue_entry::submit_create(request what, std::uint64_t along, std::function<void(queue_entry&)> then) {
  const auto self = shared_from_this();
  // The reaper relies on one that it has handed something over to.
  const auto left = [self, step = step_, along] { return self->step_ != step && along == 0; };
  auto answered = [self, step = step_, prefix = prefix_, along, then = std::move(then)](reply& created) {
    if (self->line_) self->line_->create_answered();
    if (along != 0) self->core_->reaper().handed_over(along, created.code);
    if (!created.paths.empty()) created.path = std::move(created.paths.front());
    if (self->on_created(step, prefix, created)) then(*self);
  };
  through().submit(std::move(what), while_wanted{left, std::move(answered)});
  if (line_) line_->create_sent();
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
    if (created.code == reply_code::ok) core_->reaper().remove(std::move(created.path));
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
      if (parents_made_ == 0) core_->open_parents().look(*path_);
      if (!listed) return wait_for_neighbour();
      return decide(*listed);
    case reply_code::node_exists:
      return exhausted();
    case reply_code::no_node:
      return make_parents();
    default:
      if (!explain(created_)) resume();
  }
}

/// @returns whether the number is one that can be compared: the counter sticks beyond, and equal numbers have no order.
bool queue_entry::take_number() {
  const auto number = kind_->number(last_component(node_));
  if (!number || *number > last_number) return false;
  if (line_) line_->enter(*this, *number, through());
  if (auto* const others = peers()) others->add(std::string{last_component(node_)});
  if (!std::exchange(queued_, true)) listener_->on_queued();
  return true;
}

/// The parents and, once more, create and list: all in one round trip.
void queue_entry::make_parents() {
  if (!may_make_parents()) return;
  become(state::asking);
  if (line_) line_->forget();
  std::set<std::string> asked;
  submit_parents(asked);
  create_and_list();
}

/// @returns false if it has failed instead.
bool queue_entry::may_make_parents() {
  if (const auto refused = std::exchange(parent_failure_, nullptr)) {
    fail(refused->code, refused->what);
    return false;
  }
  if (++parents_made_ <= most_parents_made) return true;
  fail(errc::refused,
       fmt::format("lock path deleted after each of {} attempts to create it; stop the process that deletes it",
                   most_parents_made));
  return false;
}

/// @param asked what other entries have asked for in the same round trip
void queue_entry::submit_parents(std::set<std::string>& asked) {
  auto parents = ancestors(*path_);
  parents.push_back(*path_);
  for (const auto& parent : parents) {
    if (!asked.insert(parent).second) continue;
    const bool of_chroot = parent.size() <= core_->chroot().size();
    through().submit(
        {.kind = operation::create,
         .path = parent,
         .mode = of_chroot ? create_mode::persistent : create_mode::container},
        unless_stale([parent](queue_entry& self, const reply& made) { self.on_parent_made(parent, made.code); }));
  }
}

/// A refusal matters only if our own create finds that this parent is missing: the ensemble looks at the permission
/// first.
void queue_entry::on_parent_made(const std::string& parent, reply_code code) {
  if (parent_failure_) return;
  switch (code) {
    case reply_code::no_permission:
      parent_failure_ =
          std::make_unique<failure>(failure{errc::not_authorized,
                                            fmt::format("its parent {} is missing, and the ACL above denies creating "
                                                        "it (ZNOAUTH); create it, or grant the permission c",
                                                        parent),
                                            {}});
      return;
    case reply_code::no_children_for_ephemerals:
      parent_failure_ = std::make_unique<failure>(failure{
          errc::parent_is_ephemeral,
          fmt::format(
              "{} cannot be created, because its parent is ephemeral (ZNOCHILDRENFOREPHEMERALS); choose another path",
              parent),
          {}});
      return;
    default:
      return;
  }
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
  if (!take_number()) return exhausted();
  look();
}

}  // namespace latchkey::detail
