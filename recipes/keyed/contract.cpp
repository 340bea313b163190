// SPDX-License-Identifier: Apache-2.0
#include "recipes/keyed/contract.hpp"

#include <utility>

namespace latchkey::detail {

contract::contract(std::shared_ptr<client_core> core, std::string path, const agreement& what, std::uint32_t number)
    : core_{std::move(core)},
      path_{std::move(path)},
      number_{std::make_shared<agreed_number>(*core_, path_, what, number, true,
                                              [this](const auto& failed) { on_known(failed); })} {}

void contract::open(std::function<void(const failure&)> on_refused) {
  core_->monitor().run([&] {
    on_refused_ = std::move(on_refused);
    observing_ = core_->add_observer(*this);
  });
}

void contract::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  core_->monitor().run([this] {
    core_->remove_observer(observing_);
    on_refused_ = {};
    wanted_ = false;
    number_->forget();
    fail(destroyed(path_));
  });
}

bool contract::agree(duration timeout, std::stop_token stop) {
  if (agreed()) return true;
  return call(
      core_->monitor(), timeout, std::move(stop), [this](auto, auto until) { return enter(until); },
      [this](const auto& who) { conclude(who, waiter::outcome::refused); });
}

void contract::ask() {
  if (agreed()) return;
  wanted_ = true;
  number_->ask();
}

void contract::on_connected() {
  if (wanted_) ask();
}

void contract::on_known(const std::optional<failure>& failed) {
  wanted_ = false;
  if (!failed) {
    agreed_.store(true, std::memory_order_release);
    return settle(waiter::outcome::granted);
  }
  fail(*failed);
  if (on_refused_) on_refused_(*failed);
}

// Those who wait ----------

std::shared_ptr<waiter> contract::enter(time_point until) {
  require_working(*core_, path_);
  auto me = std::make_shared<waiter>();
  me->at = waiting_.insert(waiting_.end(), me);
  me->ends_by_itself = is_try(until);
  if (is_try(until)) until = end_of_try(*core_, until);
  if (until != never) {
    me->timer = core_->monitor().at(until, [me, weak = weak_from_this()] {
      me->timer = {};
      me->ends_by_itself = true;
      const auto self = weak.lock();
      if (self && me->what == waiter::outcome::waiting) self->conclude(me, waiter::outcome::refused);
    });
  }
  if (agreed()) conclude(me, waiter::outcome::granted);
  ask();
  return me;
}

void contract::conclude(const std::shared_ptr<waiter>& who, waiter::outcome what) {
  if (who->what != waiter::outcome::waiting) return;
  core_->monitor().cancel(who->timer);
  if (what == waiter::outcome::refused && who->ends_by_itself) {
    if (const auto outage = core_->unreachable()) {
      who->why = std::make_unique<failure>(outage->at(path_));
      what = waiter::outcome::failed;
    }
  }
  who->set(what);
  core_->monitor().wake({who, &who->point});
  waiting_.erase(who->at);  // last: it may hold the last reference
}

void contract::fail(const failure& why) {
  for (const auto& each : waiting_) each->why = std::make_unique<failure>(why.at(path_));
  settle(waiter::outcome::failed);
}

void contract::settle(waiter::outcome what) {
  while (!waiting_.empty()) conclude(waiting_.front(), what);
}

}  // namespace latchkey::detail
