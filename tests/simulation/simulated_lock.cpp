// SPDX-License-Identifier: Apache-2.0
#include "simulation/simulated_lock.hpp"

#include <cstdlib>
#include <utility>

#include "recipes/line/line_call.hpp"

namespace latchkey::testing {

using detail::contender_kind;

std::string_view to_string(lock_family family) noexcept {
  switch (family) {
    case lock_family::turns:
      return "turns";
    case lock_family::fair:
      return "fair";
    case lock_family::shared:
      return "shared";
    case lock_family::election:
      return "election";
    case lock_family::group:
      return "group";
    case lock_family::any:
      return "any";
    case lock_family::keys:
      return "keys";
    case lock_family::permits:
      return "permits";
    case lock_family::robust:
      return "robust";
  }
  return "?";
}

simulated_lock::simulated_lock(simulated_client& client, std::string path, lock_settings settings)
    : client_{client}, settings_{std::move(settings)} {
  detail::cohort_options options{settings_.turns, settings_.linger, {}, settings_.max_hold};
  switch (settings_.family) {
    case lock_family::turns:
      options.how = settings_.how;
      turns_ = client.cohort(std::move(path), options);
      break;
    case lock_family::fair:
      fair_ = client.fair_places(std::move(path), settings_.max_hold, settings_.how);
      break;
    case lock_family::shared:
      shared_ = client.shared_state(std::move(path), options,
                                    {settings_.share_for, settings_.linger, {}, settings_.max_hold});
      break;
    case lock_family::election:
      turns_ = client.cohort(std::move(path), {.turns = 0, .record = settings_.id}, contender_kind::latch);
      break;
    case lock_family::group:
      joint_ = client.joint_lock(settings_.members, detail::group_goal::all, settings_.max_hold);
      break;
    case lock_family::any:
      joint_ = client.joint_lock(settings_.members, detail::group_goal::first, settings_.max_hold);
      break;
    case lock_family::keys:
      std::abort();  // it has a table
    case lock_family::permits:
      permits_ = client.permit_line(std::move(path), settings.permits, options);
      break;
    case lock_family::robust:
      robust_ = client.robust_line(std::move(path), options, settings.lock_delay);
      turns_ = robust_;
      break;
  }
}

simulated_lock::simulated_lock(simulated_client& client, std::shared_ptr<detail::key_table> table, std::string key,
                               lock_settings settings)
    : client_{client}, settings_{std::move(settings)}, table_{std::move(table)}, key_{std::move(key)} {}

simulated_lock::~simulated_lock() { shut(); }

void simulated_lock::shut() {
  if (table_) return table_->shut();
  if (turns_) turns_->shut();
  if (fair_) fair_->shut();
  if (shared_) shared_->shut();
  if (joint_) joint_->shut();
  if (permits_) permits_->shut();
}

simulated_lock::call simulated_lock::enter(std::uint64_t fiber, mode what, detail::time_point until,
                                           std::uint32_t count) {
  return client_.run([&] {
    if (permits_) {
      auto& wish = wishes_[fiber] = std::make_shared<detail::permit_line::wish>();
      wish->count = count;
      return permits_->enter(fiber, until, wish);
    }
    if (table_) {
      auto begun = table_->enter(key_, fiber, until);
      turns_ = std::move(begun.lock);
      return begun.me;
    }
    if (turns_) return turns_->enter(fiber, until);
    if (fair_) return fair_->enter(fiber, until);
    if (joint_) return joint_->enter(fiber, until);
    return what == contender_kind::read ? shared_->readers().enter(fiber, until)
                                        : shared_->writers().enter(fiber, until);
  });
}

std::shared_ptr<detail::pending<guard>> simulated_lock::begin(mode what, duration timeout, std::uint32_t count) {
  if (permits_) return permits_->begin_guard(count, timeout, {});
  if (table_) return table_->begin_guard(key_, timeout, {});
  if (turns_) return detail::begin_guard(*turns_, timeout, {});
  if (fair_) return detail::begin_guard(*fair_, timeout, {});
  if (joint_) return detail::begin_guard(*joint_, timeout, {});
  if (what == contender_kind::read) return detail::begin_guard(shared_->readers(), timeout, {});
  return detail::begin_guard(shared_->writers(), timeout, {});
}

void simulated_lock::cancel(const call& who, mode what) {
  client_.run([&] {
    who->ends_by_itself = false;  // as `await` does
    if (permits_) return permits_->cancel(who);
    if (turns_) return turns_->cancel(who);
    if (fair_) return fair_->cancel(who);
    if (joint_) return joint_->cancel(who);
    return what == contender_kind::read ? shared_->readers().cancel(who) : shared_->writers().cancel(who);
  });
}

void simulated_lock::leave(std::uint64_t fiber, mode what) {
  client_.run([&] {
    if (permits_) return permits_->leave(wishes_.at(fiber)->holder);
    if (turns_) return turns_->leave();
    if (fair_) return fair_->leave();
    if (joint_) return joint_->leave();
    if (what == contender_kind::write) return shared_->writers().leave();
    shared_->readers().leave(fiber);
  });
}

simulated_lock::call simulated_lock::downgrade(std::uint64_t fiber) {
  return client_.run([&] { return shared_->begin_downgrade(fiber); });
}

grant simulated_lock::current(std::uint64_t fiber, mode what) {
  return client_.run([&] {
    if (permits_) return wishes_.at(fiber)->what;
    if (turns_) return turns_->current();
    if (fair_) return fair_->current();
    if (joint_) return joint_->current();
    return what == contender_kind::read ? shared_->readers().current(fiber) : shared_->writers().current();
  });
}

std::size_t simulated_lock::index() { return joint_->held_index().value(); }

simulated_lock::call simulated_lock::queue(const place& in, std::uint64_t fiber) {
  return client_.run([&] { return in->begin_to_queue(fiber); });
}

simulated_lock::call simulated_lock::queue_again(const place& in, std::uint64_t fiber) {
  return client_.run([&] { return in->begin_to_queue_again(fiber); });
}

simulated_lock::call simulated_lock::wait(const place& in, std::uint64_t fiber, detail::time_point until) {
  return client_.run([&] { return in->begin_to_wait(fiber, until); });
}

}  // namespace latchkey::testing
