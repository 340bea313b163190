// SPDX-License-Identifier: Apache-2.0
#include "queue/ticket.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/path.hpp"
#include "base/unique_id.hpp"
#include "queue/record.hpp"

namespace latchkey::detail {
namespace {

/// From this many on ahead, asking for one name is cheaper than listing them all.
constexpr std::uint32_t long_line = 64;

/// A container parent may be reaped between its creation and ours; not so often.
constexpr unsigned most_parents_made = 20;

}  // namespace

ticket::ticket(std::shared_ptr<client_core> core, std::string path, contender_kind kind, ticket_listener& listener)
    : core_{std::move(core)}, path_{std::move(path)}, kind_{kind}, listener_{&listener} {}

ticket::~ticket() {
  if (state_ != state::over) finish();
}

/// Wraps a callback so that it runs only if nothing else has begun since, and keeps the ticket alive until then.
template <class Callable>
session::reply_callback ticket::unless_stale(Callable what) {
  return [self = shared_from_this(), step = step_, what = std::move(what)](reply& answer) {
    if (self->step_ == step) what(*self, answer);
  };
}

void ticket::start(patience how) {
  patience_ = how;
  observing_ = core_->add_observer(*this);
  begin();
}

void ticket::begin() {
  ++step_;
  forget_node();
  parents_made_ = 0;
  parent_failure_ = {};
  if (!through().connected()) return await_connection();
  if (patience_ == patience::once) return peek();
  enqueue();
}

// Session
// --------------------------------------------------------------------------------------------------------------

void ticket::await_connection() {
  if (patience_ == patience::once && through().ever_connected()) return refuse();
  ++step_;
  state_ = state::disconnected;
}

/// Takes the thread up again: now if the connection is there, otherwise at the next one.
void ticket::resume() {
  await_connection();
  if (state_ == state::disconnected && through().connected()) on_connected();
}

void ticket::on_connected() {
  if (state_ != state::disconnected) return;
  if (!node_.empty()) return look();
  if (create_lost_) return recover();
  begin();
}

/// The node went with its session. A waiter queues again, at the end, under a new name: the old one is never looked
/// for.
void ticket::on_session_over() {
  if (state_ == state::over) return;
  const auto self = shared_from_this();
  watch_ = {};
  begin();
}

void ticket::on_failure(const failure& why) {
  if (state_ == state::over) return;
  fail(why.code, why.what);
}

void ticket::on_lost(loss_reason why) {
  const auto self = shared_from_this();
  if (why != loss_reason::session_expired) release_node();
  finish();
  listener_->on_lost(why);
}

// Try
// ------------------------------------------------------------------------------------------------------------------

void ticket::peek() {
  state_ = state::peeking;
  through().submit({.kind = operation::children, .path = path_},
                   unless_stale([](ticket& self, const reply& listed) { self.on_peeked(listed); }));
}

void ticket::on_peeked(const reply& listed) {
  switch (listed.code) {
    case reply_code::ok:
      if (patience_ == patience::once && is_held(listed.children, kind_)) return refuse();
      return enqueue();
    case reply_code::no_node:
      return enqueue();
    default:
      if (!explain(listed.code)) resume();
  }
}

// Enqueue
// --------------------------------------------------------------------------------------------------------------

void ticket::enqueue() {
  ++step_;
  send_create();
}

/// Create and list in one round trip: requests of a session are served in order, so the list shows the node.
void ticket::send_create() {
  state_ = state::enqueuing;
  forget_node();
  created_ = reply_code::not_sent;
  prefix_ = ticket_prefix(unique_id(), kind_);
  // The reply is heard even when the ticket has been left meanwhile: a node that was made must go.
  through().submit({.kind = operation::create,
                    .path = join(path_, prefix_),
                    .data = describe_ticket(core_->options().label, kind_),
                    .mode = create_mode::ephemeral_sequential},
                   [self = shared_from_this(), step = step_, prefix = prefix_](reply& created) {
                     if (self->step_ == step) return self->on_created(created);
                     if (created.code == reply_code::ok) self->core_->reaper().remove(std::move(created.path));
                     if (created.code == reply_code::unknown_outcome) {
                       self->core_->reaper().remove_unknown(self->path_, prefix);
                     }
                   });
  through().submit({.kind = operation::children, .path = path_},
                   unless_stale([](ticket& self, const reply& listed) { self.on_enqueued(listed); }));
}

void ticket::on_created(reply& created) {
  created_ = created.code;
  create_lost_ = created.code == reply_code::unknown_outcome;
  if (created.code != reply_code::ok) return;
  node_ = std::move(created.path);
  czxid_ = created.stat.czxid;
}

void ticket::on_enqueued(const reply& listed) {
  switch (created_) {
    case reply_code::ok: {
      const auto mine = parse_contender(last_component(node_));
      // The counter sticks beyond, and equal numbers have no order.
      if (!mine || mine->number > last_number) return exhausted();
      return decide(listed);
    }
    case reply_code::node_exists:
      return exhausted();
    case reply_code::no_node:
      return make_parents();
    default:
      if (!explain(created_)) resume();
  }
}

/// The parents and, once more, create and list: all in one round trip.
void ticket::make_parents() {
  const auto refused = std::exchange(parent_failure_, {});
  if (refused.code != errc{}) return fail(refused.code, refused.what);
  if (++parents_made_ > most_parents_made) {
    return fail(errc::refused, "it vanishes each time it has been created: who deletes it?");
  }
  ++step_;
  auto parents = ancestors(path_);
  parents.push_back(path_);
  for (const auto& parent : parents) {
    const bool of_chroot = parent.size() <= core_->chroot().size();
    through().submit(
        {.kind = operation::create,
         .path = parent,
         .mode = of_chroot ? create_mode::persistent : create_mode::container},
        unless_stale([parent](ticket& self, const reply& made) { self.on_parent_made(parent, made.code); }));
  }
  send_create();
}

/// A refusal matters only if our own create finds that this parent is missing: the ensemble looks at the permission
/// first.
void ticket::on_parent_made(const std::string& parent, reply_code code) {
  if (parent_failure_.code != errc{}) return;
  switch (code) {
    case reply_code::no_permission:
      parent_failure_ = {errc::not_authorised,
                         fmt::format("its parent {} is missing, and the ACL above does not let us create it", parent),
                         {}};
      return;
    case reply_code::no_children_for_ephemerals:
      parent_failure_ = {
          errc::parent_is_ephemeral,
          fmt::format("{} cannot be created: the node above it is ephemeral, which has no children", parent),
          {}};
      return;
    default:
      return;
  }
}

// After a lost reply
// ---------------------------------------------------------------------------------------------------

/// The create may still be on its way to the leader when another server answers: only after a sync does a list tell.
void ticket::recover() {
  ++step_;
  state_ = state::recovering;
  through().submit({.kind = operation::sync, .path = path_}, [](const reply&) {});
  through().submit({.kind = operation::children, .path = path_},
                   unless_stale([](ticket& self, const reply& listed) { self.on_recovered(listed); }));
}

void ticket::on_recovered(const reply& listed) {
  if (listed.code == reply_code::no_node) return begin();
  if (listed.code != reply_code::ok) {
    if (!explain(listed.code)) resume();
    return;
  }
  const auto mine = std::find_if(listed.children.begin(), listed.children.end(),
                                 [this](const std::string& name) { return name.starts_with(prefix_); });
  if (mine == listed.children.end()) return begin();
  ++step_;
  through().submit(
      {.kind = operation::get, .path = join(path_, *mine)},
      unless_stale([path = join(path_, *mine)](ticket& self, const reply& read) { self.adopt(path, read); }));
}

/// A node is ours only if it belongs to the session of now.
void ticket::adopt(const std::string& found, const reply& read) {
  if (read.code == reply_code::no_node) return begin();
  if (read.code != reply_code::ok) {
    if (!explain(read.code)) resume();
    return;
  }
  if (read.stat.ephemeral_owner != through().info().id) {
    core_->reaper().remove(found);
    return begin();
  }
  create_lost_ = false;
  node_ = found;
  czxid_ = read.stat.czxid;
  look();
}

// Wait
// -----------------------------------------------------------------------------------------------------------------

void ticket::look() {
  ++step_;
  state_ = state::looking;
  through().submit({.kind = operation::children, .path = path_},
                   unless_stale([](ticket& self, const reply& listed) { self.decide(listed); }));
}

void ticket::decide(const reply& listed) {
  if (listed.code == reply_code::no_node) return begin();
  if (listed.code != reply_code::ok) {
    if (!explain(listed.code)) resume();
    return;
  }
  const auto verdict = admit(listed.children, last_component(node_));
  switch (verdict.what) {
    case admission::verdict::gone:
      return begin();  // an operator has deleted it
    case admission::verdict::granted:
      return admitted();
    case admission::verdict::wait:
      break;
  }
  if (patience_ == patience::once) return refuse();
  blockers_ = verdict.blockers;
  next_blocker_ = verdict.next_blocker;
  watch(std::string{verdict.blocker});
}

/// One watch, on one node. `get`, since an `exists` watch on a missing node would stay for ever.
void ticket::watch(const std::string& blocker) {
  ++step_;
  state_ = state::watching;
  through().forget(watch_);
  watch_ = through().submit({.kind = operation::get, .path = join(path_, blocker)},
                            unless_stale([](ticket& self, const reply& read) { self.on_watch_set(read); }),
                            [self = shared_from_this(), step = step_, blocker](watch_event event) {
                              if (self->step_ == step) self->on_blocker_event(blocker, event);
                            });
}

void ticket::on_watch_set(const reply& read) {
  if (read.code == reply_code::ok) return;
  watch_ = {};
  if (read.code == reply_code::no_node) return on_blocker_gone();
  if (!explain(read.code)) resume();
}

void ticket::on_blocker_event(const std::string& blocker, watch_event event) {
  watch_ = {};
  if (event == watch_event::deleted) return on_blocker_gone();
  watch(blocker);  // only its data has changed
}

void ticket::on_blocker_gone() {
  // Names ahead only ever disappear. (Not among readers and writers: a downgraded reader of Curator's takes the number
  // of its writer.)
  const bool names_stay = kind_ == contender_kind::lock;
  if (names_stay && blockers_ == 1) return admitted();
  if (names_stay && blockers_ > long_line && !next_blocker_.empty()) {
    --blockers_;
    return watch(std::exchange(next_blocker_, {}));
  }
  look();
}

// Grant
// ----------------------------------------------------------------------------------------------------------------

void ticket::admitted() {
  if (core_->prover().fresh()) return grant();
  prove();
}

void ticket::prove() {
  ++step_;
  state_ = state::proving;
  if (const auto wait = core_->prover().wait_before_proof(); wait > duration::zero()) {
    core_->strand().in(wait, [weak = weak_from_this(), step = step_] {
      const auto self = weak.lock();
      if (self && self->step_ == step) self->look();
    });
    return;
  }
  through().submit({.kind = operation::check, .paths = {node_}},
                   unless_stale([](ticket& self, const reply& checked) { self.on_checked(checked); }));
}

void ticket::on_checked(const reply& checked) {
  if (checked.code == reply_code::ok) return admitted();
  if (checked.code == reply_code::no_node) return begin();
  if (!explain(checked.code)) resume();
}

void ticket::grant() {
  ++step_;
  state_ = state::granted;
  core_->prover().add(*this);
  listener_->on_granted();
}

void ticket::renew() {
  core_->prover().remove(*this);
  if (through().connected()) {
    prove();
  } else {
    await_connection();
  }
}

// End
// ------------------------------------------------------------------------------------------------------------------

void ticket::leave() {
  if (state_ == state::over) return;
  release_node();
  finish();
}

void ticket::refuse() {
  const auto self = shared_from_this();
  leave();
  listener_->on_refused();
}

void ticket::fail(errc code, std::string what) {
  const auto self = shared_from_this();
  leave();
  listener_->on_failed({code, std::move(what), path_.substr(core_->chroot().size())});
}

void ticket::exhausted() {
  fail(errc::queue_exhausted,
       "its sequence numbers are used up: delete the path when nobody is using it, or choose another one");
}

/// @returns whether `code` needs no further thought: what waiting cannot mend has been reported.
bool ticket::explain(reply_code code) {
  switch (code) {
    case reply_code::session_over:
      return true;  // heard of by `on_session_over`
    case reply_code::no_permission:
      fail(errc::not_authorised, "its ACL does not let us use it: a lock needs the permissions c, d and r");
      return true;
    case reply_code::no_children_for_ephemerals:
      fail(errc::parent_is_ephemeral, "it is an ephemeral node, which cannot have children: use another path");
      return true;
    case reply_code::unknown_outcome:
    case reply_code::not_sent:
      return false;
    default:
      fail(errc::refused,
           fmt::format("the ensemble refuses the request (reply {}): is the path one that it accepts, and do "
                       "the ACL and the credentials fit together?",
                       static_cast<int>(code)));
      return true;
  }
}

/// Whatever there is of our node in this session is handed to the reaper. A create under way looks after itself.
void ticket::release_node() {
  if (!node_.empty()) {
    core_->reaper().remove(node_);
  } else if (create_lost_) {
    core_->reaper().remove_unknown(path_, prefix_);
  }
}

void ticket::forget_node() {
  node_.clear();
  prefix_.clear();
  create_lost_ = false;
}

void ticket::finish() {
  ++step_;
  state_ = state::over;
  through().forget(watch_);
  core_->remove_observer(observing_);
  if (!node_.empty()) core_->prover().remove(*this);
}

}  // namespace latchkey::detail
