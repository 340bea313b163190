// SPDX-License-Identifier: Apache-2.0
/// How an entry whose turn has come is granted, kept and changed.

#include <utility>

#include "base/path.hpp"
#include "base/unique_id.hpp"
#include "queue/queue_entry.hpp"
#include "queue/record.hpp"

namespace latchkey::detail {

// Grant ----------

/// Without a list: the own node has not been seen since it was created, or since the last list. Had it been deleted,
/// its watch would have said so before those ahead were heard to be gone. Where there is no such watch, it is read.
void queue_entry::admitted() {
  first_ = true;
  forget_watch();
  if (core_->lease_keeper().fresh() && !core_->own_nodes().sure(*this)) return confirm_node();
  let_in();
}

/// By a neighbour that has left. Its going is known before any event of the same moment can come, so a deletion of our
/// node may be under way in any case, and is known within a round trip: a read, where there is no watch, is not waited
/// for either. Ten thousand neighbours that have just queued would wait for the reads of one another.
void queue_entry::admitted_by_neighbour() {
  first_ = true;
  if (core_->lease_keeper().fresh() && !core_->own_nodes().sure(*this)) {
    if (!through().connected()) return await_connection();
    core_->own_nodes().read_next(*this);
  }
  let_in();
}

/// @param seen what the list says by which it was let in
void queue_entry::admitted(const admission& seen) {
  first_ = true;
  forget_watch();
  if (seen.behind != 0)
    others_ = std::make_unique<others>(others{.name = std::string{seen.last}, .count = seen.behind});
  let_in();
}

void queue_entry::confirm_node() {
  if (!through().connected()) return await_connection();
  ++step_;
  state_ = state::confirming;
  core_->own_nodes().look(*this);
}

void queue_entry::let_in() {
  if (czxid_ == 0) return look_again();
  if (core_->lease_keeper().fresh()) return grant();
  prove();
}

void queue_entry::prove() {
  if (!through().connected()) return await_connection();
  ++step_;
  state_ = state::proving;
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
  ++step_;
  state_ = state::granted;
  begin_to_hold();
  listener_->on_granted();
}

void queue_entry::begin_to_hold() {
  if (patience_ == patience::once) patience_ = patience::wait;  // what it was willing to do for the place
  core_->lease_keeper().add(*this);
}

bool queue_entry::refresh(time_point now) {
  if (core_->lease_keeper().fresh(now)) {
    begin_to_hold();
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

// From writer to reader ----------

/// The reader takes the number of its writer, as Curator's does: no writer that waits comes before it, and the readers
/// that wait for this writer are let in.
void queue_entry::downgrade() {
  const auto writer = last_component(node_);
  replacement_ =
      std::make_unique<std::string>(join(*path_, entry_prefix(unique_id(), contender_kind::read) +
                                                     std::string{writer.substr(writer.size() - number_digits)}));
  core_->lease_keeper().pause(*this);
  core_->own_nodes().remove(*this);
  replace();
}

void queue_entry::replace() {
  if (!through().connected()) return await_connection();
  ++step_;
  state_ = state::replacing;
  through().submit({.kind = operation::replace,
                    .path = *replacement_,
                    .data = describe_owner(core_->options().label, contender_kind::read),
                    .paths = {node_}},
                   unless_stale([](queue_entry& self, const reply& replaced) { self.on_replaced(replaced.code); }));
}

void queue_entry::on_replaced(reply_code code) {
  switch (code) {
    case reply_code::ok:
      return become_reader();
    case reply_code::no_node:  // an operator has deleted the writer's
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
  ++step_;
  state_ = state::replacing;
  through().submit({.kind = operation::sync, .path = *path_}, [](const reply&) {});
  through().submit({.kind = operation::get, .path = *replacement_},
                   unless_stale([](queue_entry& self, const reply& read) {
                     if (read.code == reply_code::ok) return self.become_reader();
                     if (read.code == reply_code::no_node) return self.replace();
                     if (!self.explain(read.code)) self.resume();
                   }));
}

/// What orders its grants stays the writer's: the transaction came after the creates of the writers that wait behind.
void queue_entry::become_reader() {
  ++step_;
  core_->lease_keeper().remove(*this);
  node_ = std::move(*std::exchange(replacement_, nullptr));
  kind_ = contender_kind::read;
  state_ = state::granted;
  core_->lease_keeper().add(*this);
  core_->own_nodes().add(*this);
  listener_->on_downgraded();
}

}  // namespace latchkey::detail
