// SPDX-License-Identifier: Apache-2.0
#include "recipes/fair/fair_places.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::detail {

fair_places::fair_places(std::shared_ptr<client_core> core, std::string path, const std::string& group,
                         duration max_hold, hand_off how)
    : lock_line{core, std::move(path), rule_of(contender_kind::lock), core->group(group), max_hold},
      how_{how},
      anticipation_{how} {}

void fair_places::let_go() {
  leave();
  while (!places_.empty()) {
    const auto each = places_.back();
    each->give_up();
    if (each->caller_) each->fail(destroyed(path_));
  }
}

// Callers ----------

std::shared_ptr<fair_place> fair_places::enqueue(duration timeout, std::stop_token stop) {
  if (stop.stop_requested()) return nullptr;
  auto& monitor = core_->monitor();
  const auto fiber = current_fiber();
  auto place = std::make_shared<fair_place>(self(), patience::keep);
  const auto me = monitor.run([&] { return place->begin_to_queue(fiber, end_of_call(timeout, monitor.now())); });
  if (!detail::await(monitor, me, std::move(stop), [this](const auto& who) { cancel(who); })) return nullptr;
  return place;
}

bool fair_places::is_hopeless(std::uint64_t) { return !holders_.empty() || !places_.empty() || core_->is_cut_off(); }

void fair_places::begin(const std::shared_ptr<waiter>& me) {
  const auto place = std::make_shared<fair_place>(self(), patience_of(me->once));
  place->await(me);
  if (places_.empty() && holders_.empty()) anticipation_.wanted(me->since);
  add(place);
  place->start();
}

void fair_places::withdraw(const std::shared_ptr<waiter>& me) {
  const auto place = std::static_pointer_cast<fair_place>(me->wish);
  if (place->how_ != patience::keep || place->for_place_) place->give_up();
  place->conclude(waiter::outcome::refused);
}

void fair_places::end(hold& mine, time_point now) {
  const auto left = std::static_pointer_cast<fair_place>(std::move(mine.on));
  holders_.end(mine, now);
  const bool closed = !mine.grant->bound();
  const bool last = places_.size() == 1 && anticipation_.left(now);
  if (last && !left->asked_to_release_) {
    former_ = left->leave_for_another(closed);
  } else {
    left->give_up(closed);  // its neighbour may have the lock now
  }
  const auto next = std::exchange(next_, nullptr);
  if (next && next->entry_ && next->entry_->granted() && next->entry_->refresh(now)) turn_of(next);
}

void fair_places::on_overdue(hold& which) {
  std::exchange(static_cast<fair_place&>(*which.on).entry_, nullptr)->leave();
}

void fair_places::add(const std::shared_ptr<fair_place>& place) {
  if (place->index_ != fair_place::none) return;
  place->index_ = places_.size();
  places_.push_back(place);
}

void fair_places::remove(const std::shared_ptr<fair_place>& place) {
  const auto index = std::exchange(place->index_, fair_place::none);
  if (index == fair_place::none) return;
  if (index + 1 != places_.size()) {
    places_[index] = std::move(places_.back());
    places_[index]->index_ = index;
  }
  places_.pop_back();
}

kept_by fair_places::what_keeps() {
  const bool idle = std::any_of(places_.begin(), places_.end(), [](const auto& each) {
    return each->entry_ && each->entry_->granted() && !each->caller_;
  });
  return holders_.empty() && idle ? kept_by::idle_place : lock_line::what_keeps();
}

/// The ensemble has granted it.
void fair_places::turn_of(const std::shared_ptr<fair_place>& place) {
  if (shut_) return;
  if (!holders_.empty()) {
    next_ = place;
    return;
  }
  if (!place->caller_ || place->for_place_) return;  // until a call waits for it
  const auto& with = *place->entry_;
  const auto now = core_->monitor().now();
  auto& mine = holders_.begin(*this, place->caller_->fiber, with.node(), with.fence(with.first_turn()), now);
  mine.on = place;
  place->spent_ = true;
  if (place->asked_to_release_) mine.grant->ask_to_release();
  line_.count_grant(*place->caller_, with.waited() ? granted_by::queue : granted_by::free_queue, now);
  place->conclude(waiter::outcome::granted);
}

}  // namespace latchkey::detail
