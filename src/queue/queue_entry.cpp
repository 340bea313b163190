// SPDX-License-Identifier: Apache-2.0
/// The life of an entry: its beginning, the events of the session and of its node, its end.

#include "queue/queue_entry.hpp"

#include "base/path.hpp"
#include "queue/refusal.hpp"

namespace latchkey::detail {

queue_entry::queue_entry(std::shared_ptr<client_core> core, std::shared_ptr<const std::string> path, const rule& kind,
                         place_listener& listener, std::shared_ptr<neighbours> line, hand_off how)
    : place{listener},
      core_{std::move(core)},
      path_{std::move(path)},
      neighbours_{std::move(line)},
      kind_{&kind},
      how_{how} {}

queue_entry::~queue_entry() {
  if (state_ != state::over) finish();
}

void queue_entry::start(patience how, std::unique_ptr<kept_node> former) {
  patience_ = how;
  observing_ = core_->add_observer(*this);
  become(state::disconnected);
  begin(std::move(former));
}

/// What was under way before is stale.
void queue_entry::become(state next) {
  ++step_;
  state_ = next;
}

/// The place is gone.
void queue_entry::queue_again() {
  first_ = false;        // who knows what else is gone
  forget_predecessor();  // the next place may wait for a neighbour, and what was said of the one ahead of this means nothing
  if (patience_ == patience::keep && queued_) return refuse();
  step_out();
  begin();
}

/// @param former of use only right away
void queue_entry::begin(std::unique_ptr<kept_node> former) {
  if (joint_) return refuse();  // its node would have another birth
  forget_node();
  parent_failure_ = nullptr;
  if (!through().connected()) return await_connection();
  // What cannot be deleted would be one node more each time: look first.
  if (patience_ == patience::once || core_->reaper().refused().any_below(*path_)) return peek();
  if (!former || !requeue(std::move(former))) enqueue();
}

// Session ----------

void queue_entry::await_connection() {
  if (patience_ == patience::once && through().ever_connected()) return refuse();
  become(state::disconnected);
  creates_.end();  // an attempt that was lost with its connection tells nothing of the path
  if (through().ever_connected()) delayed();
}

void queue_entry::delayed() {
  const auto self = shared_from_this();  // the listener may give it up
  listener_->on_delayed();
}

/// Takes the thread up again: now if the connection is there, otherwise at the next one.
void queue_entry::resume() {
  await_connection();
  if (state_ == state::disconnected && through().connected()) on_connected();
}

void queue_entry::on_connected() {
  if (state_ == state::waiting) return confirm_release();
  if (state_ != state::disconnected) return;
  if (replacement_) return recover_replacement();
  if (!node_.empty()) return look();
  if (create_lost_) return recover();
  begin();
}

/// The node went with its session. A waiter queues again, at the end, under a new name: the old one is never looked
/// for.
void queue_entry::on_session_over() {
  if (state_ == state::over) return;
  const auto self = shared_from_this();
  predecessor_ = nullptr;
  if (neighbours_) neighbours_->clear();
  forget_node();
  queue_again();
}

void queue_entry::on_failure(const failure& why) {
  if (state_ == state::over) return;
  fail(why.code, why.what);
}

void queue_entry::on_lost(loss_reason why) {
  const auto self = shared_from_this();
  const bool was_expected = state_ == state::waiting || state_ == state::confirming;
  if (state_ == state::proving || was_expected) return queue_again();
  if (why == loss_reason::node_deleted && !replacement_) {
    core_->reaper().remove_alone(node_);
  } else if (why != loss_reason::session_expired) {
    release_node();
  }
  finish();
  if (why == loss_reason::node_deleted) first_ = false;  // who knows what else has been deleted
  step_out();
  listener_->on_lost(why);
}

// Its node ----------

void queue_entry::on_node_seen(bool asked_to_release, std::int64_t czxid) {
  const auto self = shared_from_this();
  if (czxid_ == 0) czxid_ = czxid;
  if (asked_to_release) listener_->on_asked_to_release();
  if (state_ == state::confirming) let_in();
}

void queue_entry::on_node_gone() {
  const auto self = shared_from_this();
  if (state_ == state::granted) return on_lost(loss_reason::node_deleted);
  queue_again();
}

void queue_entry::on_node_unseen(reply_code why) {
  const auto self = shared_from_this();
  if (state_ == state::confirming && !explain(why)) resume();
}

/// An operator may have deleted all of it before a node was watched.
void queue_entry::on_parent_gone() {
  if (state_ != state::over && !node_.empty()) on_node_gone();
}

// End ----------

void queue_entry::leave(bool closed) {
  if (state_ == state::over) return;
  const auto self = shared_from_this();
  tell_peers(closed);
  release_node(closed);
  finish();
  step_out();
}

void queue_entry::refuse() {
  const auto self = shared_from_this();
  leave();
  listener_->on_refused();
}

void queue_entry::fail(failure why) {
  const auto self = shared_from_this();
  leave();
  why.path = path_->substr(core_->chroot().size());
  listener_->on_failed(why);
}

void queue_entry::exhausted() {
  fail(errc::queue_exhausted,
       "its sequence numbers are used up; delete the path while it is not in use, or choose another one");
}

/// @returns whether `code` has been dealt with: a failure that waiting cannot fix has been reported.
bool queue_entry::explain(reply_code code) {
  if (code == reply_code::session_over) return true;  // heard of by `on_session_over`
  if (is_lost(code)) return false;
  fail(refusal(*core_, code, "the permissions c, d and r"));
  return true;
}

void queue_entry::forget_predecessor() {
  predecessor_ = nullptr;
  if (peers() && !node_.empty()) core_->lease_keeper().remove(*this);  // it was next, perhaps
}

/// Whatever there is of our node in this session is handed to the reaper. A create under way looks after itself.
void queue_entry::release_node(bool closed) {
  spared_ = listener_->spared_node();
  if (spared() && last_component(node_) == spared_) return;
  bind_node(closed);
  if (replacement_) {  // one of the two is not there
    core_->reaper().remove_alone(*replacement_);
    core_->reaper().remove_alone(node_);
  } else if (followed()) {  // the one who waits for it hears of it from us
    core_->reaper().remove_unhurried(node_);
  } else if (!node_.empty()) {
    core_->reaper().remove(node_, listener_->last_words());
  } else if (create_lost_) {
    core_->reaper().remove_unknown(*path_, prefix_);
  }
}

void queue_entry::forget_node() {
  forget_peers();
  core_->lease_keeper().remove(*this);
  core_->own_nodes().remove(*this);
  node_.clear();
  prefix_.clear();
  create_lost_ = first_ = false;
  czxid_ = 0;
  first_turn_ = 0;
  behind_ = nullptr;
  outlook_ = {};
}

/// Not while an unclosed earlier entry of this client is being deleted: for this client it counts as deleted, so this
/// entry was let in; for others it still exists.
///
/// @returns whether the one behind has been told
bool queue_entry::tell_peers(bool closed) {
  const bool tells = closed && state_ == state::granted && kind_->exclusive() && !replacement_ && !releasing_ &&
                     !followed() && !core_->reaper().owes_bound(*path_);
  return tells && peers() && peers()->waiting().tell(std::string{last_component(node_)});
}

/// @pre the reaper gets the node
void queue_entry::bind_node(bool closed) {
  if (core_->peers() && first_ && !closed && !node_.empty()) core_->reaper().bind(node_);
}

void queue_entry::forget_peers() {
  if (peers() && !node_.empty()) peers()->remove(std::string{last_component(node_)});
}

void queue_entry::finish() {
  become(state::over);
  forget_peers();
  releasing_ = false;
  forget_predecessor();
  core_->remove_observer(observing_);
  core_->lease_keeper().remove(*this);
  core_->own_nodes().remove(*this);
}

}  // namespace latchkey::detail
