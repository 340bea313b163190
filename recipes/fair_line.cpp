// SPDX-License-Identifier: Apache-2.0
#include "recipes/fair_line.hpp"

#include <utility>

namespace latchkey::detail {

fair_line::fair_line(std::shared_ptr<client_core> core, std::string path, const std::string& group, duration max_hold,
                     hand_off how)
    : core_{std::move(core)},
      path_{std::move(path)},
      counts_{core_->group(group)},
      how_{how},
      line_{*core_, path_, rule_of(contender_kind::lock), counts_},
      holders_{core_, path_, counts_, max_hold},
      anticipation_{how} {
  line_.ask_for_owner([this] { return abandoned(); });
}

void fair_line::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  core_->monitor().run([this] {
    shut_ = true;
    holders_.warn_of_guards();
    leave();
    while (!places_.empty()) {
      const auto each = places_.back();
      each->give_up();
      if (each->caller_) each->fail(destroyed(path_));
    }
    holders_.stop_limit();
  });
}

// Callers ----------

std::shared_ptr<fair_place> fair_line::enqueue(duration timeout, std::stop_token stop) {
  if (stop.stop_requested()) return nullptr;
  auto& monitor = core_->monitor();
  const auto fiber = current_fiber();
  auto place = std::make_shared<fair_place>(shared_from_this(), patience::keep);
  const auto me = monitor.run([&] { return place->begin_to_queue(fiber, deadline_after(monitor.now(), timeout)); });
  if (!detail::await(monitor, me, std::move(stop), [this](const auto& who) { cancel(who); })) return nullptr;
  return place;
}

std::shared_ptr<waiter> fair_line::enter(std::uint64_t fiber, time_point until) {
  require_open();
  if (!is_try(until)) holders_.refuse(fiber);
  const auto place = std::make_shared<fair_place>(shared_from_this(), patience_of(is_try(until)));
  const bool hopeless = !holders_.empty() || !places_.empty() || core_->is_cut_off();
  await(place, fiber, until);
  auto me = place->caller_;
  if (is_try(until) && hopeless) {
    place->conclude(waiter::outcome::refused);
  } else {
    if (places_.empty() && holders_.empty()) anticipation_.wanted(me->since);
    add(place);
    place->start();
  }
  return me;
}

void fair_line::cancel(const std::shared_ptr<waiter>& who) {
  if (who->what != waiter::outcome::waiting) return;
  const auto place = std::static_pointer_cast<fair_place>(who->wish);
  if (place->how_ != patience::keep || place->for_place_) place->give_up();
  place->conclude(waiter::outcome::refused);
}

void fair_line::leave(std::uint64_t) {
  auto* const mine = holders_.only();
  if (!mine) return;
  const auto now = core_->monitor().now();
  const auto left = std::static_pointer_cast<fair_place>(holders_.end(*mine, now));
  const bool closed = !mine->grant->bound();
  const bool last = places_.size() == 1 && anticipation_.left(now);
  if (last && !left->asked_to_release_) {
    former_ = left->leave_for_another(closed);
  } else {
    left->give_up(closed);  // its neighbour may have the lock now
  }
  const auto next = std::exchange(next_, nullptr);
  if (next && next->entry_ && next->entry_->granted() && next->entry_->refresh(now)) turn_of(next);
}

time_point fair_line::end_overdue(time_point now) {
  return holders_.end_overdue(
      now, [](const hold& each) { std::exchange(static_cast<fair_place&>(*each.on).entry_, nullptr)->leave(); });
}

void fair_line::require_open() const {
  require_working(*core_, path_);
  if (shut_) throw_destroyed(path_);
}

void fair_line::await(const std::shared_ptr<fair_place>& place, std::uint64_t fiber, time_point until) {
  place->caller_ = line_.add(fiber, until, *this);
  place->caller_->wish = place;
}

void fair_line::add(const std::shared_ptr<fair_place>& place) {
  if (place->index_ != fair_place::none) return;
  place->index_ = places_.size();
  places_.push_back(place);
}

void fair_line::remove(const std::shared_ptr<fair_place>& place) {
  const auto index = std::exchange(place->index_, fair_place::none);
  if (index == fair_place::none) return;
  if (index + 1 != places_.size()) {
    places_[index] = std::move(places_.back());
    places_[index]->index_ = index;
  }
  places_.pop_back();
}

/// The ensemble has granted it.
void fair_line::turn_of(const std::shared_ptr<fair_place>& place) {
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
