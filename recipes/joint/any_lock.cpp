// SPDX-License-Identifier: Apache-2.0
#include <latchkey/any_lock.hpp>

#include <utility>

#include "recipes/joint/joint_lock.hpp"
#include "recipes/line/line_call.hpp"

namespace latchkey {

any_lock::any_lock(client& owner, std::vector<std::string> paths, any_lock_options options) {
  std::vector<detail::group_member> members;
  for (auto& each : paths) members.push_back({std::move(each), detail::contender_kind::lock});
  lock_ = std::make_shared<detail::joint_lock>(owner.core(), std::move(members), detail::group_goal::first, most_paths,
                                               options.group, detail::saturate(options.max_hold));
}

any_lock::~any_lock() { lock_->shut(); }

bool any_lock::take(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return lock_->acquire(timeout, std::move(stop));
}

guard any_lock::take_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return lock_->acquire_guard(timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> any_lock::begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return detail::begin_guard(*lock_, timeout, std::move(stop));
}

void any_lock::unlock() noexcept { lock_->unlock(); }

std::optional<std::size_t> any_lock::index() const { return lock_->held_index(); }

grant any_lock::held() const { return lock_->held(); }

const std::string& any_lock::path() const noexcept { return lock_->path(); }

}  // namespace latchkey
