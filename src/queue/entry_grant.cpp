// SPDX-License-Identifier: Apache-2.0
/// How an entry whose turn has come is granted, kept and changed.

#include <utility>

#include "base/node_name.hpp"
#include "base/path.hpp"
#include "base/unique_id.hpp"
#include "queue/queue_entry.hpp"
#include "queue/record.hpp"

namespace latchkey::detail {

// Grant ----------

/// @returns whether its node may have gone unnoticed since it was created, or last listed.
bool queue_entry::unseen() const { return core_->lease_keeper().fresh() && !core_->own_nodes().sure(*this); }

/// Without a list: the own node has not been seen since it was created, or since the last list. Had it been deleted,
/// its watch would have said so before those ahead were heard to be gone. Where there is no such watch, it is read.
void queue_entry::admitted() {
  first_ = true;
  forget_predecessor();
  if (unseen()) return confirm_node();
  let_in();
}

/// By a neighbour that has left. Its going is known before any event of the same moment can come, so a deletion of our
/// node may be under way in any case, and is known within a round trip: a read, where there is no watch, is not waited
/// for either. Ten thousand neighbours that have just queued would wait for the reads of one another.
void queue_entry::admitted_by_neighbour() {
  first_ = true;
  if (unseen()) {
    if (!through().connected()) return await_connection();
    core_->own_nodes().read_next(*this);
  }
  let_in();
}

/// @param seen what the list says by which it was let in
void queue_entry::admitted(const admission& seen) {
  first_ = true;
  forget_predecessor();
  if (seen.behind != 0) behind_ = std::make_unique<behind>(behind{std::string{seen.last}, seen.behind});
  let_in();
}

/// Reads its own node, which tells the czxid, too.
void queue_entry::confirm_node() {
  if (!through().connected()) return await_connection();
  become(state::confirming);
  core_->own_nodes().look(*this);
}

void queue_entry::let_in() {
  if (czxid_ == 0) return confirm_node();
  if (core_->lease_keeper().fresh()) return grant();
  prove();
}

void queue_entry::prove() {
  if (!through().connected()) return await_connection();
  become(state::proving);
  core_->lease_keeper().ask(*this);
}

void queue_entry::on_proved() {
  const auto self = shared_from_this();
  if (state_ == state::proving) return let_in();
  listener_->on_granted();
}

void queue_entry::on_unproved() {
  const auto self = shared_from_this();  // the listener may give it up
  if (state_ == state::proving) return resume();
  listener_->on_unconfirmed();
}

void queue_entry::grant() {
  become(state::granted);
  begin_to_hold(core_->monitor().now());
  if (peers()) peers()->waiting().hold(std::string{last_component(node_)}, through().info().timeout / 8);
  listener_->on_granted();
}

void queue_entry::begin_to_hold(time_point now) {
  if (patience_ == patience::once) patience_ = patience::wait;  // what it was willing to do for the place
  core_->lease_keeper().add(*this, now);
}

bool queue_entry::refresh(time_point now) {
  if (core_->lease_keeper().fresh(now)) {
    begin_to_hold(now);
    return true;
  }
  core_->lease_keeper().remove(*this);
  prove();
  return false;
}

bool queue_entry::confirm() {
  if (!through().connected()) return false;
  core_->lease_keeper().ask(*this);
  return true;
}

void queue_entry::stop_proving() { core_->lease_keeper().stop_proving(*this); }

// Release along with a transaction ----------

/// A place of readers may have several grants.
bool queue_entry::begin_release() {
  if (state_ != state::granted || replacement_ || !kind_->exclusive() || !listener_->may_release()) return false;
  if (std::exchange(releasing_, true)) return false;
  core_->lease_keeper().pause(*this);
  core_->own_nodes().remove(*this);
  listener_->on_releasing(true);
  return true;
}

void queue_entry::end_release(bool gone) {
  const auto self = shared_from_this();
  releasing_ = false;
  core_->lease_keeper().remove(*this);
  if (!gone) {
    core_->own_nodes().add(*this);
    core_->lease_keeper().add(*this, core_->monitor().now());
    return state_ == state::granted ? listener_->on_releasing(false) : void();  // or the lease has run out
  }
  finish();
  step_out();
  listener_->on_lost(loss_reason::node_deleted);  // what its callers had has ended before
}

// Downgrade ----------

/// The new node takes the number of the old one, as Curator's does: of those that wait for the new kind, none comes
/// before it, and those that wait for the old kind only are let in.
void queue_entry::downgrade() {
  const auto old = last_component(node_);
  replacement_ = std::make_unique<std::string>(join(
      *path_, entry_prefix(unique_id(), *kind_->downgraded) + std::string{old.substr(old.size() - number_digits)}));
  core_->lease_keeper().pause(*this);
  core_->own_nodes().remove(*this);
  replace();
}

void queue_entry::replace() {
  if (!through().connected()) return await_connection();
  become(state::asking);
  // First the create: of a node that exists already one wants to hear, whatever became of the other.
  through().submit({.kind = operation::transact,
                    .steps = {{.what = step::operation::create,
                               .path = *replacement_,
                               .data = listener_->record(core_->options().label, *kind_->downgraded),
                               .mode = create_mode::ephemeral},
                              {.what = step::operation::remove, .path = node_}}},
                   unless_stale([](queue_entry& self, const reply& replaced) { self.on_replaced(replaced.code); }));
}

void queue_entry::on_replaced(reply_code code) {
  switch (code) {
    case reply_code::ok:
      return take_replacement();
    case reply_code::no_node:  // an operator has deleted the old one
      core_->lease_keeper().remove(*this);
      return on_lost(loss_reason::node_deleted);
    case reply_code::node_exists:
      return recover_replacement();
    default:
      if (!explain(code)) resume();
  }
}

/// The transaction may still be on its way to the leader when another server answers: only after a sync does a read
/// tell.
void queue_entry::recover_replacement() {
  become(state::asking);
  through().submit({.kind = operation::sync, .path = *path_}, [](const reply&) {});
  through().submit({.kind = operation::get, .path = *replacement_},
                   unless_stale([](queue_entry& self, const reply& read) {
                     if (read.code == reply_code::ok) return self.take_replacement();
                     if (read.code == reply_code::no_node) return self.replace();
                     if (!self.explain(read.code)) self.resume();
                   }));
}

/// What orders its grants stays as it was: the transaction came after the creates of all that wait behind.
void queue_entry::take_replacement() {
  const auto self = shared_from_this();
  become(state::granted);
  core_->lease_keeper().remove(*this);
  node_ = std::move(*std::exchange(replacement_, nullptr));
  kind_ = kind_->downgraded;
  core_->own_nodes().add(*this);
  core_->lease_keeper().add(*this, core_->monitor().now());
  if (state_ == state::granted) listener_->on_downgraded();  // or the lease has run out, and it is lost
}

}  // namespace latchkey::detail
