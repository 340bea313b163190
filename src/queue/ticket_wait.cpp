// SPDX-License-Identifier: Apache-2.0
/// How a ticket in the queue comes to be granted.

#include <utility>

#include "base/path.hpp"
#include "queue/ticket.hpp"

namespace latchkey::detail {
namespace {

/// From this many on ahead, asking for one name is cheaper than listing them all.
constexpr std::uint32_t long_line = 64;

}  // namespace

// Wait ----------

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

// Grant ----------

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

}  // namespace latchkey::detail
