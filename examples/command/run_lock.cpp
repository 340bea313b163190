// SPDX-License-Identifier: Apache-2.0
#include "run_lock.hpp"

#include <memory>
#include <utility>

#include <latchkey/any_lock.hpp>
#include <latchkey/election.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/robust_mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>

#include "exit_code.hpp"
#include "show.hpp"

namespace command {
namespace {

using latchkey::guard;
using timeout = std::optional<std::chrono::nanoseconds>;

template <class Lock>
run_lock of(std::shared_ptr<Lock> lock) {
  return {[lock = std::move(lock)](timeout most, std::stop_token stop) {
    if (!most) return lock->acquire(std::move(stop));
    return most->count() == 0 ? lock->try_acquire() : lock->try_acquire_for(*most, std::move(stop));
  }};
}

run_lock as_reader(std::shared_ptr<latchkey::shared_mutex> lock) {
  return {[lock = std::move(lock)](timeout most, std::stop_token stop) {
    if (!most) return lock->acquire_shared(std::move(stop));
    return most->count() == 0 ? lock->try_acquire_shared() : lock->try_acquire_shared_for(*most, std::move(stop));
  }};
}

run_lock of_permits(std::shared_ptr<latchkey::semaphore> lock, std::uint32_t count) {
  return {[lock = std::move(lock), count](timeout most, std::stop_token stop) {
    if (!most) return lock->acquire(std::move(stop), count);
    return most->count() == 0 ? lock->try_acquire(count) : lock->try_acquire_for(*most, count, std::move(stop));
  }};
}

run_lock of_robust(const std::shared_ptr<latchkey::robust_mutex>& lock) {
  auto made = of(lock);
  made.abandoned = [lock] {
    const auto dead = lock->abandoned();
    return dead ? std::optional{json_of(*dead)} : std::nullopt;
  };
  made.conclude = [lock](bool in_order) { in_order ? lock->recovered() : lock->poison(); };
  return made;
}

/// At most one recipe, and only what fits it.
void require_sense(const run_options& how) {
  const bool semaphore = how.permits_in_all != 0;
  if (how.try_once && how.wait) throw usage_error{"--try does not wait, and --wait does; choose one"};
  if (how.shared + semaphore + how.elect.has_value() + how.any + how.robust > 1) {
    throw usage_error{"--shared, --semaphore, --elect, --any and --robust exclude one another; choose one"};
  }
  if (how.robust && (how.direct || how.paths.size() > 1))
    throw usage_error{"--robust is for a plain lock of one path, without --peers"};
  if (how.lock_delay != std::chrono::milliseconds{0} && !how.robust) throw usage_error{"--lock-delay needs --robust"};
  if (how.paths.size() > 1 && (semaphore || how.elect)) {
    throw usage_error{"--semaphore and --elect take one --path; a lock of several paths is a plain one, or --shared"};
  }
  if (how.permits != 1 && !semaphore) throw usage_error{"--permits needs --semaphore, the number of all"};
  if (how.direct && (semaphore || how.elect || how.shared || how.paths.size() > 1)) {
    throw usage_error{"--peers is for a plain lock of one path"};
  }
  if (how.selector && !how.elect) throw usage_error{"--selector needs --elect"};
}

}  // namespace

run_lock make_lock(latchkey::client& owner, const run_options& how) {
  require_sense(how);
  const auto& path = how.paths.front();
  if (how.permits_in_all != 0) {
    return of_permits(std::make_shared<latchkey::semaphore>(owner, path, how.permits_in_all), how.permits);
  }
  if (how.elect) {
    latchkey::election_options options;
    options.id = how.elect->empty() ? host_name() : *how.elect;
    if (how.selector) options.as = latchkey::election_options::naming::selector;
    return of(std::make_shared<latchkey::election>(owner, path, options));
  }
  if (how.any) {
    auto lock = std::make_shared<latchkey::any_lock>(owner, how.paths);
    auto made = of(lock);
    made.index = [lock] { return lock->index(); };
    return made;
  }
  if (how.paths.size() > 1) {
    std::vector<latchkey::lock_request> all;
    for (const auto& each : how.paths) {
      using kind = latchkey::lock_request::kind;
      all.push_back({each, how.shared ? kind::read : kind::alone});
    }
    return of(std::make_shared<latchkey::multi_lock>(owner, std::move(all)));
  }
  if (how.shared) return as_reader(std::make_shared<latchkey::shared_mutex>(owner, path));
  if (how.robust) {
    const latchkey::robust_mutex_options options{.lock_delay = how.lock_delay};
    return of_robust(std::make_shared<latchkey::robust_mutex>(owner, path, options));
  }
  latchkey::mutex_options options;
  if (how.direct) options.how = latchkey::hand_off::direct_then_sync;
  return of(std::make_shared<latchkey::mutex>(owner, path, options));
}

}  // namespace command
