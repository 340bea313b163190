// SPDX-License-Identifier: Apache-2.0
#include <latchkey/shared_mutex.hpp>

#include "recipes/line/line_call.hpp"
#include "recipes/rules.hpp"
#include "recipes/shared/shared_state.hpp"

namespace latchkey {

shared_mutex::shared_mutex(client& owner, given_text<std::string> path, shared_mutex_options options)
    : path_{std::move(path)} {
  detail::require_lock_path(path_, owner.core()->chroot());
  detail::require_not_negative("share_for", detail::saturate(options.share_for), path_);
  state_ = std::make_shared<detail::shared_state>(
      owner.core(), path_, detail::cohort_options::checked(options, path_),
      detail::readers_options{detail::saturate(options.share_for), detail::saturate(options.linger), options.group,
                              detail::saturate(options.max_hold)});
}

shared_mutex::~shared_mutex() { state_->shut(); }

// To write ----------

bool shared_mutex::take(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return state_->writers().acquire(timeout, std::move(stop));
}

guard shared_mutex::take_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return state_->writers().acquire_guard(timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> shared_mutex::begin_guard(std::chrono::nanoseconds timeout,
                                                                  std::stop_token stop) {
  return detail::begin_guard(state_->writers(), timeout, std::move(stop));
}

void shared_mutex::unlock() noexcept { state_->writers().unlock(); }

// To read ----------

bool shared_mutex::take_shared(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return state_->readers().acquire(timeout, std::move(stop));
}

guard shared_mutex::take_shared_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return state_->readers().acquire_guard(timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> shared_mutex::begin_shared_guard(std::chrono::nanoseconds timeout,
                                                                         std::stop_token stop) {
  return detail::begin_guard(state_->readers(), timeout, std::move(stop));
}

void shared_mutex::unlock_shared() noexcept { state_->readers().unlock(); }

void shared_mutex::downgrade() { state_->downgrade(); }

guard shared_mutex::downgrade(guard writing) { return state_->downgrade(writing.grant()); }

grant shared_mutex::held() const { return state_->writers().held(); }

grant shared_mutex::held_shared() const { return state_->readers().held(); }

}  // namespace latchkey
