// SPDX-License-Identifier: Apache-2.0
#include "recipes/line/shared_place.hpp"

#include <utility>

namespace latchkey::detail {

shared_place::shared_place(std::shared_ptr<client_core> core, std::string path, contender_kind kind,
                           lock_counts& counts, duration linger, duration max_hold, hand_off how, const wording& words)
    : lock_line{std::move(core), std::move(path), rule_of(kind), counts, max_hold, words},
      absolute_{std::make_shared<const std::string>(core_->absolute(path_))},
      remote_waiters_{std::make_shared<remote_waiters>(
          *core_, *absolute_, rule_of(kind), [this](std::string_view node) { return place_ && place_->node() == node; },
          [this] { on_remote_waiters(); })},
      kind_{rule_of(kind)},
      linger_{linger},
      how_{how},
      anticipation_{how} {}

void shared_place::let_go() {
  line_.fail_all(destroyed(path_));
  end_all();
  give_up();
}

void shared_place::observe() {
  if (observing_ == 0) observing_ = core_->add_observer(*this);
}

void shared_place::rest_if_unused() {
  if (place_ || !line_.empty() || !holders_.empty()) return;
  core_->remove_observer(std::exchange(observing_, 0));
  holders_.stop_limit();
  on_idle();
}

// Callers ----------

void shared_place::begin(const std::shared_ptr<waiter>& me) {
  observe();
  if (line_.size() != 1) return;
  if (!place_ && !in_use()) anticipation_.wanted(me->since);
  advance(me->since);
}

void shared_place::withdraw(const std::shared_ptr<waiter>& me) {
  line_.conclude(me, waiter::outcome::refused);
  rest_if_unwanted(core_->monitor().now());
}

void shared_place::refuse_tries() {
  line_.refuse_tries();
  rest_if_unwanted(core_->monitor().now());
}

void shared_place::advance(time_point now) {
  if (line_.empty()) return rest_if_unwanted(now);
  if (granted()) return go_on(now);
  if (!place_ && !in_use()) take();
}

void shared_place::gate_opened() {
  const auto now = core_->monitor().now();
  if (!line_.empty() && granted() && !in_use() && refresh(now)) granted_at(now);
}

// The place ----------

std::shared_ptr<place> shared_place::make_place() {
  return std::make_shared<queue_entry>(core_, absolute_, kind_, *this, nullptr, how_);
}

void shared_place::take() {
  if (core_->failed()) return on_failure(*core_->failed());
  state_ = state::queueing;
  used_ = rested_ = asked_to_release_ = bound_ = false;
  turns_ = 0;
  place_ = make_place();
  place_->start(patience_of(line_.front()->once), std::move(former_));
}

std::shared_ptr<place> shared_place::release() {
  state_ = state::none;
  releasing_ = false;
  rest_.stop();
  remote_waiters_->stop();
  auto left = std::exchange(place_, nullptr);
  rest_if_unused();
  return left;
}

void shared_place::give_up() {
  if (const auto left = release()) left->leave(closed());
}

void shared_place::give_up_for_another() {
  if (!follows_on()) return give_up();
  if (const auto left = release()) former_ = left->leave_for_another(turns_, closed());
}

void shared_place::rest_if_unwanted(time_point now) {
  if (!line_.empty() || in_use()) return;
  const bool wanted_soon = linger_ > duration::zero() && granted() && !asked_to_release_ && !releasing_ &&
                           !core_->failed() && core_->session().connected();
  if (wanted_soon) remote_waiters_->watch();
  const auto known = remote_waiters_->known();
  if (!wanted_soon || known == remote_waiters::answer::waiting || known == remote_waiters::answer::gone) {
    const bool wanted_at_once = anticipation_.left(now);
    return wanted_at_once && !asked_to_release_ ? give_up_for_another() : give_up();
  }
  if (state_ == state::resting) return;
  state_ = state::resting;
  place_->stop_proving();
  until_ = deadline_after(now, linger_);
  rest_.set(*this, until_, [this](time_point at) { return end_linger(at); });
}

/// The place may have been used again since.
time_point shared_place::end_linger(time_point now) {
  if (state_ != state::resting) return never;
  if (now < until_) return until_;
  give_up();
  return never;
}

bool shared_place::wake() {
  if (state_ != state::resting) return false;
  state_ = state::granted;
  rested_ = true;
  place_->set_patience(patience_of(line_.front()->once));
  return true;
}

bool shared_place::refresh(time_point now) {
  state_ = state::queueing;  // before: the entry may be refused in the call
  if (!place_->refresh(now)) return false;
  state_ = state::granted;
  return true;
}

shared_place::turn shared_place::next_turn() {
  const bool rested = std::exchange(rested_, false);
  auto source = rested ? granted_by::linger : granted_by::turn;
  if (!std::exchange(used_, true)) {
    turns_ = place_->first_turn();
    source = place_->waited() ? granted_by::queue : granted_by::free_queue;
  }
  return {place_->fence(turns_++), source};
}

// What becomes of it ----------

void shared_place::granted_at(time_point now) {
  state_ = state::granted;
  if (!line_.empty() && gate_open()) return let_in(now);
  refuse_tries();  // the others wait until the gate opens
}

void shared_place::on_delayed() {
  state_ = state::delayed;
  refuse_tries();
}

void shared_place::on_refused() {
  line_.refuse_tries();
  release();
  if (!line_.empty()) take();  // those who came meanwhile are in no hurry
}

void shared_place::for_each_grant(const std::function<void(grant_state&)>& what) {
  holders_.for_each([&](hold& each) { what(*each.grant); });
}

void shared_place::on_suspect() {
  for_each_grant([](grant_state& each) { each.suspect(); });
}

void shared_place::on_lost(loss_reason why) {
  release();
  for_each_grant([why](grant_state& each) { each.lose(why); });
  if (!line_.empty() && !in_use()) take();
}

void shared_place::on_failure(const failure& why) {
  line_.fail_all(why.at(path_));
  give_up();
}

void shared_place::on_asked_to_release() {
  asked_to_release_ = true;
  for_each_grant([](grant_state& each) { each.ask_to_release(); });
  if (line_.empty() && !in_use()) give_up();
}

/// A place that rests has no proofs: what becomes of its session is told here.
void shared_place::on_session_over() {
  remote_waiters_->stop();
  if (!place_ || in_use()) return;
  if (line_.empty()) return give_up();
  state_ = state::queueing;  // it queues again, for another place
  used_ = rested_ = asked_to_release_ = false;
}

void shared_place::on_remote_waiters() {
  if (granted()) advance(core_->monitor().now());
}

}  // namespace latchkey::detail
