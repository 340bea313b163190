// SPDX-License-Identifier: Apache-2.0
#include <latchkey/shared_mutex.hpp>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/path.hpp"
#include "recipes/shared_state.hpp"

namespace latchkey {

shared_mutex::shared_mutex(client& owner, std::string path, shared_mutex_options options) : path_{std::move(path)} {
  detail::validate_lock_path(path_);
  if (options.share_for < options.share_for.zero()) {
    throw error{errc::bad_option, "the option share_for must not be negative", path_};
  }
  cohort_ = std::make_shared<detail::shared_state>(
      owner.core(), path_, detail::cohort_options::checked(options.turns, detail::saturate(options.linger), path_),
      detail::readers_options{detail::saturate(options.share_for), detail::saturate(options.linger)});
  cohort_->open();
}

shared_mutex::~shared_mutex() { cohort_->shut(); }

// To write ----------

void shared_mutex::lock() {
  if (!cohort_->acquire(detail::duration::max(), {})) detail::error_destroyed(path_);
}

bool shared_mutex::lock(std::stop_token stop) { return cohort_->acquire(detail::duration::max(), std::move(stop)); }

bool shared_mutex::try_lock() { return cohort_->acquire(detail::duration::zero(), {}); }

bool shared_mutex::try_lock_within(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return cohort_->acquire(timeout, std::move(stop));
}

void shared_mutex::unlock() noexcept { cohort_->unlock(); }

// To read ----------

void shared_mutex::lock_shared() {
  if (!cohort_->acquire_shared(detail::duration::max(), {})) detail::error_destroyed(path_);
}

bool shared_mutex::lock_shared(std::stop_token stop) {
  return cohort_->acquire_shared(detail::duration::max(), std::move(stop));
}

bool shared_mutex::try_lock_shared() { return cohort_->acquire_shared(detail::duration::zero(), {}); }

bool shared_mutex::try_lock_shared_within(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return cohort_->acquire_shared(timeout, std::move(stop));
}

void shared_mutex::unlock_shared() noexcept {
  if (cohort_->unlock_shared()) return;
  detail::log(log_level::error,
              fmt::format("{}: unlock_shared() by a fiber that does not read: nothing is done", path_));
}

void shared_mutex::downgrade() { cohort_->downgrade(); }

grant shared_mutex::held() const { return cohort_->held(); }

grant shared_mutex::held_shared() const { return cohort_->held_shared(); }

}  // namespace latchkey
