// SPDX-License-Identifier: Apache-2.0
#include "recipes/place_group.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace latchkey::detail {

place_group::place::place(place_group& group, std::size_t index, const group_member& what)
    : group_{group},
      index_{index},
      path_{std::make_shared<const std::string>(group.core_->absolute(what.path))},
      kind_{rule_of(what.kind)} {}

void place_group::place::make_entry() {
  let_in_ = free_ = false;
  entry_ = std::make_shared<queue_entry>(group_.core_, path_, kind_, *this);
}

void place_group::place::on_suspect() {
  if (group_.granted()) group_.listener_.on_suspect();
}

void place_group::place::on_asked_to_release() {
  group_.asked_to_release_ = true;
  if (group_.granted()) group_.listener_.on_asked_to_release();
}

place_group::place_group(std::shared_ptr<client_core> core, const std::vector<group_member>& members, group_goal goal,
                         group_listener& listener)
    : core_{std::move(core)}, goal_{goal}, listener_{listener} {
  for (const auto& each : members) places_.push_back(std::make_unique<place>(*this, places_.size(), each));
}

void place_group::start(patience how, std::uint64_t number) {
  how_ = how;
  number_ = number;
  begin();
}

bool place_group::waited() const noexcept {
  return std::any_of(places_.begin(), places_.end(),
                     [](const auto& each) { return each->entry_ && each->entry_->waited(); });
}

std::vector<std::size_t> place_group::waiting() const {
  std::vector<std::size_t> all;
  for (const auto& each : places_) {
    if (each->entry_ && each->entry_->waited() && !each->let_in_) all.push_back(each->index_);
  }
  return all;
}

std::vector<std::string> place_group::nodes() const {
  std::vector<std::string> all;
  for (const auto& each : places_) {
    if (each->entry_) all.push_back(each->entry_->node());
  }
  return all;
}

/// That of each place is not smaller than the birth of the group, and smaller than those of all who come later in that
/// queue. So is the smallest, in every queue.
fencing_token place_group::fence() const noexcept {
  std::optional<fencing_token> least;
  for (const auto& each : places_) {
    if (!each->entry_) continue;
    const auto mine = each->entry_->fence(0);
    if (!least || mine < *least) least = mine;
  }
  return least.value_or(fencing_token{});
}

std::vector<std::shared_ptr<queue_entry>> place_group::entries() const {
  std::vector<std::shared_ptr<queue_entry>> all;
  for (const auto& each : places_) {
    if (each->entry_) all.push_back(each->entry_);
  }
  return all;
}

bool place_group::has_places() const noexcept {
  return std::any_of(places_.begin(), places_.end(), [](const auto& each) { return each->entry_ != nullptr; });
}

// Begin ----------

void place_group::begin() {
  const auto self = shared_from_this();
  state_ = state::connecting;
  ++step_;
  asked_to_release_ = false;
  if (core_->failed()) return on_failed(*core_->failed());
  if (!core_->session().connected()) {
    if (how_ == patience::once && core_->session().ever_connected()) return refuse();
    connecting_ = core_->when_connected([weak = weak_from_this()] {
      const auto group = weak.lock();
      if (!group) return;
      group->connecting_ = 0;
      group->begin();
    });
    return;
  }
  for (const auto& each : places_) each->make_entry();
  // What cannot be deleted would be one node more each time: look first.
  const bool is_stuck = std::any_of(places_.begin(), places_.end(),
                                    [this](const auto& each) { return core_->reaper().has_refused(*each->path_); });
  how_ == patience::once || is_stuck ? peek() : queue(entries());
}

void place_group::peek() {
  state_ = state::peeking;
  unlisted_ = places_.size();
  for (const auto& each : places_) {
    core_->session().submit({.kind = operation::children, .path = *each->path_},
                            unless_stale{weak_from_this(), &place_group::step_,
                                         [index = each->index_](place_group& self, const reply& listed) {
                                           self.on_listed(*self.places_[index], listed);
                                         }});
  }
}

void place_group::on_listed(place& which, const reply& listed) {
  if (is_lost(listed.code)) return how_ == patience::once ? refuse() : begin_again();
  if (listed.code == reply_code::ok) {
    which.free_ = !which.entry_->would_wait(listed.children);
    const bool needed = which.free_ || how_ != patience::once;
    if (!needed && goal_ == group_goal::all) return refuse();
    if (needed && which.entry_->refuse_behind_own(listed.children)) return;
  } else if (listed.code == reply_code::no_node) {
    which.free_ = true;
  } else {
    which.entry_->explain(listed.code);
    return;
  }
  if (--unlisted_ != 0) return;
  const bool chooses = goal_ == group_goal::first && how_ == patience::once;
  const auto chosen = chooses ? choose_free() : entries();
  chosen.empty() ? refuse() : queue(chosen);
}

/// Not always the same ones first, so that those who try at the same time do not all meet in one queue.
std::vector<std::shared_ptr<queue_entry>> place_group::choose_free() {
  constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
  const auto mine = static_cast<std::uint64_t>(core_->session().info().id) + number_;
  const auto first = static_cast<std::size_t>(mine * golden_ratio >> 32);
  std::vector<std::shared_ptr<queue_entry>> chosen;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    auto& each = *places_[(first + i) % places_.size()];
    if (each.free_ && chosen.size() < most_tried) {
      chosen.push_back(each.entry_);
    } else {
      each.entry_ = nullptr;
    }
  }
  return chosen;
}

void place_group::queue(const std::vector<std::shared_ptr<queue_entry>>& chosen) {
  state_ = state::queueing;
  queue_entry::start_together(chosen, how_);
}

// End ----------

void place_group::begin_again() {
  leave();
  begin();
}

void place_group::refuse() {
  const auto self = shared_from_this();
  leave();
  listener_.on_refused();
}

void place_group::leave() {
  const auto self = shared_from_this();
  ++step_;
  state_ = state::over;
  core_->forget_connected(std::exchange(connecting_, 0));
  leave_all_but(nullptr);
}

void place_group::leave_all_but(const place* kept) {
  auto left = entries();
  if (kept) std::erase(left, kept->entry_);
  for (const auto& each : places_) {
    if (each.get() != kept) each->entry_ = nullptr;
  }
  queue_entry::leave_together(left);
}

// Of its places ----------

void place_group::on_granted(place& which) {
  if (granted()) return;  // told again
  const auto self = shared_from_this();
  which.let_in_ = true;
  winner_ = which.index_;
  if (goal_ == group_goal::first) {
    leave_all_but(&which);
  } else if (std::all_of(places_.begin(), places_.end(), [](const auto& each) { return each->let_in_; })) {
    if (!prove_all()) return;
  } else {
    return which.entry_->stop_proving();  // it may be long until the others are let in
  }
  state_ = state::granted;
  listener_.on_granted();
  if (granted() && asked_to_release_) listener_.on_asked_to_release();
}

/// @returns whether the lease is fresh. If not, each place is told when it is.
bool place_group::prove_all() {
  const auto now = core_->monitor().now();
  const auto step = step_;
  bool all = true;
  for (const auto& each : places_) {
    if (each->entry_->refresh(now)) continue;
    if (step_ != step) return false;
    each->let_in_ = all = false;
  }
  return all;
}

/// A node that has gone, or was never created. In waiting for the first of several, the other places stay as they are.
void place_group::on_refused(place& which) {
  const auto self = shared_from_this();
  which.entry_ = nullptr;
  if (goal_ == group_goal::all) return how_ == patience::once ? refuse() : begin_again();
  if (how_ == patience::once) return has_places() ? void() : refuse();
  if (!core_->session().connected()) return begin_again();
  which.make_entry();
  which.entry_->start(how_);
}

void place_group::on_lost(place& which, loss_reason why) {
  if (!granted()) return on_refused(which);
  const auto self = shared_from_this();
  which.entry_ = nullptr;
  leave();
  listener_.on_lost(why);
}

void place_group::on_failed(const failure& why) {
  const auto self = shared_from_this();
  leave();
  listener_.on_failed(why);
}

}  // namespace latchkey::detail
