// SPDX-License-Identifier: Apache-2.0
#include <latchkey/fair_mutex.hpp>

#include "recipes/fair/fair_places.hpp"
#include "recipes/line/line_call.hpp"
#include "recipes/rules.hpp"

namespace latchkey {

fair_mutex::fair_mutex(client& owner, given_text<std::string> path, fair_mutex_options options)
    : path_{std::move(path)} {
  detail::require_lock_path(path_, owner.core()->chroot());
  detail::require_peers(*owner.core(), options.how, path_);
  detail::require_not_negative("max_hold", detail::saturate(options.max_hold), path_);
  line_ = std::make_shared<detail::fair_places>(owner.core(), path_, options.group, detail::saturate(options.max_hold),
                                                options.how);
}

fair_mutex::~fair_mutex() { line_->shut(); }

bool fair_mutex::take(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return line_->acquire(timeout, std::move(stop));
}

guard fair_mutex::take_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return line_->acquire_guard(timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> fair_mutex::begin_guard(std::chrono::nanoseconds timeout,
                                                                std::stop_token stop) {
  return detail::begin_guard(*line_, timeout, std::move(stop));
}

void fair_mutex::unlock() noexcept { line_->unlock(); }

ticket fair_mutex::enqueue() & { return ticket{line_->enqueue(detail::duration::max(), {})}; }

std::optional<ticket> fair_mutex::enqueue_within(std::chrono::nanoseconds timeout, std::stop_token stop) {
  auto place = line_->enqueue(timeout, std::move(stop));
  if (!place) return std::nullopt;
  return ticket{std::move(place)};
}

std::shared_ptr<detail::pending<ticket>> fair_mutex::begin_to_queue(std::stop_token stop) {
  return line_->begin_to_queue(std::move(stop));
}

grant fair_mutex::held() const { return line_->held(); }

}  // namespace latchkey
