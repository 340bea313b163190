// SPDX-License-Identifier: Apache-2.0
#include <latchkey/robust_mutex.hpp>

#include "recipes/line/line_call.hpp"
#include "recipes/robust/robust_line.hpp"

namespace latchkey {
namespace {

std::chrono::milliseconds checked(std::chrono::milliseconds lock_delay, const std::string& path) {
  detail::require_not_negative("lock_delay", lock_delay, path);
  if (lock_delay <= detail::longest_lock_delay) return lock_delay;
  throw error{errc::bad_option, "the option lock_delay is more than one minute; use fencing tokens", path};
}

}  // namespace

robust_mutex::robust_mutex(client& owner, given_text<std::string> path, robust_mutex_options options)
    : path_{std::move(path)} {
  detail::require_lock_path(path_, owner.core()->chroot());
  const auto lock_delay = checked(options.lock_delay, path_);
  line_ = std::make_shared<detail::robust_line>(owner.core(), path_, detail::cohort_options::checked(options, path_),
                                                lock_delay);
}

robust_mutex::~robust_mutex() { line_->shut(); }

bool robust_mutex::take(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return line_->acquire(timeout, std::move(stop));
}

guard robust_mutex::take_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return line_->acquire_guard(timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> robust_mutex::begin_guard(std::chrono::nanoseconds timeout,
                                                                  std::stop_token stop) {
  return detail::begin_guard(*line_, timeout, std::move(stop));
}

void robust_mutex::unlock() noexcept { line_->unlock(); }

std::optional<dead_owner> robust_mutex::abandoned() const { return line_->abandoned(); }

void robust_mutex::recovered() noexcept { line_->recovered(); }

void robust_mutex::poison() noexcept { line_->poison(); }

grant robust_mutex::held() const { return line_->held(); }

}  // namespace latchkey
