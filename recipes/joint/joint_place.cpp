// SPDX-License-Identifier: Apache-2.0
#include "recipes/joint/joint_place.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace latchkey::detail {

joint_place::part::part(joint_place& whole, std::size_t index, const group_member& what)
    : whole_{whole},
      index_{index},
      lock_{what.path},
      path_{std::make_shared<const std::string>(whole.core_->absolute(what.path))},
      kind_{rule_of(what.kind)} {}

void joint_place::part::make_entry() {
  let_in_ = free_ = false;
  entry_ = std::make_shared<queue_entry>(whole_.core_, path_, kind_, *this);
}

void joint_place::part::on_suspect() {
  if (whole_.granted()) whole_.listener_->on_suspect();
}

void joint_place::part::on_asked_to_release() {
  whole_.asked_to_release_ = true;
  if (whole_.granted()) whole_.listener_->on_asked_to_release();
}

joint_place::joint_place(std::shared_ptr<client_core> core, const std::vector<group_member>& members, group_goal goal,
                         place_listener& listener, std::uint64_t number)
    : place{listener}, core_{std::move(core)}, goal_{goal}, number_{number} {
  for (const auto& each : members) parts_.push_back(std::make_unique<part>(*this, parts_.size(), each));
}

void joint_place::start(patience how, std::unique_ptr<kept_node>) {
  how_ = how;
  begin();
}

bool joint_place::waited() const noexcept {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const auto& each) { return each->entry_ && each->entry_->waited(); });
}

std::vector<std::size_t> joint_place::waiting() const {
  std::vector<std::size_t> all;
  for (const auto& each : parts_) {
    if (each->entry_ && each->entry_->waited() && !each->let_in_) all.push_back(each->index_);
  }
  return all;
}

/// Once granted: of goal `first` the one that was won, which alone is left.
const joint_place::part& joint_place::first() const {
  return **std::find_if(parts_.begin(), parts_.end(), [](const auto& each) { return each->entry_ != nullptr; });
}

const std::string& joint_place::node() const noexcept { return first().entry_->node(); }

std::vector<std::string> joint_place::other_nodes() const {
  std::vector<std::string> all;
  for (const auto& each : parts_) {
    if (each->entry_ && each.get() != &first()) all.push_back(each->entry_->node());
  }
  return all;
}

/// That of each entry is not smaller than the birth of the group, and smaller than those of all who come later in that
/// queue. So is the smallest, in every queue.
fencing_token joint_place::fence(std::uint32_t turn) const noexcept {
  std::optional<fencing_token> least;
  for (const auto& each : parts_) {
    if (!each->entry_) continue;
    const auto mine = each->entry_->fence(turn);
    if (!least || mine < *least) least = mine;
  }
  return least.value_or(fencing_token{});
}

std::vector<std::shared_ptr<queue_entry>> joint_place::entries() const {
  std::vector<std::shared_ptr<queue_entry>> all;
  for (const auto& each : parts_) {
    if (each->entry_) all.push_back(each->entry_);
  }
  return all;
}

bool joint_place::has_entries() const noexcept {
  return std::any_of(parts_.begin(), parts_.end(), [](const auto& each) { return each->entry_ != nullptr; });
}

// Begin ----------

void joint_place::begin() {
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
  for (const auto& each : parts_) each->make_entry();
  // What cannot be deleted would be one node more each time: look first.
  const bool is_stuck = std::any_of(parts_.begin(), parts_.end(), [this](const auto& each) {
    return core_->reaper().refused().any_below(*each->path_);
  });
  how_ == patience::once || is_stuck ? peek() : queue(entries());
}

void joint_place::peek() {
  state_ = state::peeking;
  unlisted_ = parts_.size();
  for (const auto& each : parts_) {
    core_->session().submit({.kind = operation::children, .path = *each->path_},
                            unless_stale{weak_from_this(), &joint_place::step_,
                                         [index = each->index_](joint_place& self, const reply& listed) {
                                           self.on_listed(*self.parts_[index], listed);
                                         }});
  }
}

void joint_place::on_listed(part& which, const reply& listed) {
  if (is_lost(listed.code)) return how_ == patience::once ? refuse() : begin_again();
  if (listed.code == reply_code::ok) {
    which.free_ = !which.entry_->would_wait(listed.children);
    const bool needed = which.free_ || how_ != patience::once;
    if (!needed && goal_ == group_goal::all) return refuse(which.index_);
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
std::vector<std::shared_ptr<queue_entry>> joint_place::choose_free() {
  constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
  const auto mine = static_cast<std::uint64_t>(core_->session().info().id) + number_;
  const auto first = static_cast<std::size_t>(mine * golden_ratio >> 32);
  std::vector<std::shared_ptr<queue_entry>> chosen;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    auto& each = *parts_[(first + i) % parts_.size()];
    if (each.free_ && chosen.size() < most_tried) {
      chosen.push_back(each.entry_);
    } else {
      each.entry_ = nullptr;
    }
  }
  return chosen;
}

void joint_place::queue(const std::vector<std::shared_ptr<queue_entry>>& chosen) {
  state_ = state::queueing;
  queue_entry::start_together(chosen, how_);
}

// End ----------

void joint_place::begin_again() {
  leave();
  begin();
}

void joint_place::refuse(std::optional<std::size_t> at) {
  const auto self = shared_from_this();
  refused_at_ = at;
  leave();
  listener_->on_refused();
}

void joint_place::leave(bool) {
  const auto self = shared_from_this();
  ++step_;
  state_ = state::over;
  core_->forget_connected(std::exchange(connecting_, 0));
  leave_all_but(nullptr);
}

void joint_place::leave_all_but(const part* kept) {
  auto left = entries();
  if (kept) std::erase(left, kept->entry_);
  for (const auto& each : parts_) {
    if (each.get() != kept) each->entry_ = nullptr;
  }
  queue_entry::leave_together(left);
}

// Of its entries ----------

void joint_place::on_granted(part& which) {
  if (granted()) return;  // told again
  const auto self = shared_from_this();
  which.let_in_ = true;
  if (goal_ == group_goal::first) {
    leave_all_but(&which);
  } else if (std::all_of(parts_.begin(), parts_.end(), [](const auto& each) { return each->let_in_; })) {
    if (!prove_all(core_->monitor().now())) return;
  } else {
    return which.entry_->stop_proving();  // it may be long until the others are let in
  }
  state_ = state::granted;
  listener_->on_granted();
  if (granted() && asked_to_release_) listener_->on_asked_to_release();
}

bool joint_place::refresh(time_point now) {
  state_ = state::queueing;
  if (!prove_all(now)) return false;
  state_ = state::granted;
  return true;
}

void joint_place::stop_proving() {
  for (const auto& each : entries()) each->stop_proving();
}

/// @returns whether the lease is fresh. If not, each entry is told when it is.
bool joint_place::prove_all(time_point now) {
  const auto step = step_;
  bool all = true;
  for (const auto& each : parts_) {
    if (!each->entry_ || each->entry_->refresh(now)) continue;
    if (step_ != step) return false;
    each->let_in_ = all = false;
  }
  return all;
}

/// A node that has gone, or was never created. In waiting for the first of several, the other entries stay as they are.
void joint_place::on_refused(part& which) {
  const auto self = shared_from_this();
  which.entry_ = nullptr;
  if (goal_ == group_goal::all) return how_ == patience::once ? refuse(which.index_) : begin_again();
  if (how_ == patience::once) return has_entries() ? void() : refuse();
  if (!core_->session().connected()) return begin_again();
  which.make_entry();
  which.entry_->start(how_);
}

void joint_place::on_lost(part& which, loss_reason why) {
  if (!granted()) return on_refused(which);
  const auto self = shared_from_this();
  which.entry_ = nullptr;
  leave();
  listener_->on_lost(why);
}

void joint_place::on_failed(const failure& why) {
  const auto self = shared_from_this();
  leave();
  listener_->on_failed(why);
}

}  // namespace latchkey::detail
