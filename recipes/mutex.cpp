// SPDX-License-Identifier: Apache-2.0
#include <latchkey/mutex.hpp>

#include "recipes/line/cohort.hpp"
#include "recipes/line/line_call.hpp"
#include "recipes/rules.hpp"

namespace latchkey {

mutex::mutex(client& owner, given_text<std::string> path, mutex_options options) : path_{std::move(path)} {
  detail::require_lock_path(path_, owner.core()->chroot());
  detail::require_peers(*owner.core(), options.how, path_);
  cohort_ = std::make_shared<detail::cohort>(owner.core(), path_, detail::contender_kind::lock,
                                             detail::cohort_options::checked(options, path_));
}

mutex::~mutex() { cohort_->shut(); }

bool mutex::take(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return cohort_->acquire(timeout, std::move(stop));
}

guard mutex::take_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return cohort_->acquire_guard(timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> mutex::begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return detail::begin_guard(*cohort_, timeout, std::move(stop));
}

void mutex::unlock() noexcept { cohort_->unlock(); }

grant mutex::held() const { return cohort_->held(); }

}  // namespace latchkey
