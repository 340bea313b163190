// SPDX-License-Identifier: Apache-2.0
#include <latchkey/multi_lock.hpp>

#include <utility>

#include <latchkey/error.hpp>

#include "recipes/joint/joint_lock.hpp"
#include "recipes/line/line_call.hpp"

namespace latchkey {
namespace {

detail::contender_kind kind_of(const lock_request& of) {
  switch (of.how) {
    case lock_request::kind::read:
      return detail::contender_kind::read;
    case lock_request::kind::write:
      return detail::contender_kind::write;
    case lock_request::kind::alone:
      return detail::contender_kind::lock;
  }
  throw error{errc::bad_option, "`how` is none of alone, read and write", of.path};
}

/// A null pointer is an empty text.
std::vector<std::string> texts(std::initializer_list<const char*> given) {
  std::vector<std::string> all;
  for (const auto* each : given) all.emplace_back(each ? each : "");
  return all;
}

}  // namespace

std::vector<lock_request> multi_lock::each_alone(const std::vector<std::string>& paths) {
  std::vector<lock_request> locks;
  for (const auto& each : paths) locks.push_back({.path = each});
  return locks;
}

multi_lock::multi_lock(client& owner, std::initializer_list<const char*> paths, multi_lock_options options)
    : multi_lock{owner, each_alone(texts(paths)), std::move(options)} {}

multi_lock::multi_lock(client& owner, std::vector<lock_request> locks, multi_lock_options options) {
  std::vector<detail::group_member> members;
  for (auto& each : locks) {
    const auto kind = kind_of(each);
    members.push_back({std::move(each.path), kind});
  }
  lock_ = std::make_shared<detail::joint_lock>(owner.core(), std::move(members), detail::group_goal::all, most_locks,
                                               options.group, detail::saturate(options.max_hold));
}

multi_lock::~multi_lock() { lock_->shut(); }

bool multi_lock::take(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return lock_->acquire(timeout, std::move(stop));
}

guard multi_lock::take_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return lock_->acquire_guard(timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> multi_lock::begin_guard(std::chrono::nanoseconds timeout,
                                                                std::stop_token stop) {
  return detail::begin_guard(*lock_, timeout, std::move(stop));
}

void multi_lock::unlock() noexcept { lock_->unlock(); }

grant multi_lock::held() const { return lock_->held(); }

const std::string& multi_lock::path() const noexcept { return lock_->path(); }

}  // namespace latchkey
