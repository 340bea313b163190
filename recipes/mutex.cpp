// SPDX-License-Identifier: Apache-2.0
#include <latchkey/mutex.hpp>

#include "base/path.hpp"
#include "queue/seat.hpp"

namespace latchkey {

mutex::mutex(client& owner, std::string path, mutex_options options) : path_{std::move(path)} {
  detail::validate_lock_path(path_);
  seat_ = std::make_shared<detail::seat>(
      owner.core(), path_, detail::contender_kind::lock,
      detail::seat_options::checked(options.turns, detail::saturate(options.linger), path_));
  seat_->open();
}

mutex::~mutex() { seat_->shut(); }

void mutex::lock() {
  if (!seat_->acquire(detail::duration::max(), {})) detail::error_destroyed(path_);
}

bool mutex::lock(std::stop_token stop) { return seat_->acquire(detail::duration::max(), std::move(stop)); }

bool mutex::try_lock() { return seat_->acquire(detail::duration::zero(), {}); }

bool mutex::try_lock_within(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return seat_->acquire(timeout, std::move(stop));
}

void mutex::unlock() noexcept { seat_->unlock(); }

grant mutex::held() const { return seat_->held(); }

}  // namespace latchkey
