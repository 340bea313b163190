// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The kinds of locks as types, for what cannot be said of their values: see family.hpp.

#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

#include <latchkey/async.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/ticket.hpp>

#include "bridge/wait_point.hpp"
#include "coroutines.hpp"
#include "support/family.hpp"
#include "support/support.hpp"

namespace latchkey::testing {

/// A read-write lock, taken to read.
class reader {
 public:
  reader(client& owner, std::string path, shared_mutex_options options = {}) : lock_{owner, std::move(path), options} {}

  void lock() { lock_.lock_shared(); }
  bool lock(std::stop_token stop) { return lock_.lock_shared(std::move(stop)); }
  bool try_lock() { return lock_.try_lock_shared(); }
  template <class Duration>
  bool try_lock_for(Duration timeout, std::stop_token stop = {}) {
    return lock_.try_lock_shared_for(timeout, std::move(stop));
  }
  template <class Time>
  bool try_lock_until(Time time, std::stop_token stop = {}) {
    return lock_.try_lock_shared_until(time, std::move(stop));
  }
  guard acquire() { return lock_.acquire_shared(); }
  guard acquire(std::stop_token stop) { return lock_.acquire_shared(std::move(stop)); }
  guard try_acquire() { return lock_.try_acquire_shared(); }
  template <class Duration>
  guard try_acquire_for(Duration timeout) {
    return lock_.try_acquire_shared_for(timeout);
  }
  void unlock() noexcept { lock_.unlock_shared(); }
  grant held() const { return lock_.held_shared(); }

 private:
  shared_mutex lock_;
};

/// A fair mutex of which each caller takes a ticket first.
class ticketed {
 public:
  ticketed(client& owner, std::string path) : lock_{owner, std::move(path)} {}

  void lock() { lock_.enqueue().wait(); }
  bool lock(std::stop_token stop) { return !stop.stop_requested() && lock_.enqueue().wait(std::move(stop)); }
  /// The turn of a place that has just been taken is not known yet: `ahead()` asks.
  bool try_lock() {
    auto place = lock_.enqueue();
    return place.ahead() == 0 && place.wait_for(patience());
  }
  template <class Duration>
  bool try_lock_for(Duration timeout, std::stop_token stop = {}) {
    return lock_.enqueue().wait_for(timeout, std::move(stop));
  }
  template <class Time>
  bool try_lock_until(Time time, std::stop_token stop = {}) {
    return lock_.enqueue().wait_until(time, std::move(stop));
  }
  void unlock() noexcept { lock_.unlock(); }
  grant held() const { return lock_.held(); }

 private:
  fair_mutex lock_;
};

/// A guard that belongs to the caller that has taken it, as a lock does.
class owned_guard {
 public:
  /// @pre the guard before has been released, or the lock would not have been taken
  bool keep(guard taken) {
    if (taken.grant() == grant{}) return false;
    const std::lock_guard lock{mutex_};
    held_ = std::move(taken);
    owner_ = detail::current_fiber();
    return true;
  }
  void unlock() noexcept {
    guard mine;
    const std::lock_guard lock{mutex_};
    if (owner_ == detail::current_fiber()) mine = std::move(held_);
  }
  grant held() const {
    const std::lock_guard lock{mutex_};
    return held_.grant();
  }

 private:
  mutable std::mutex mutex_;
  guard held_;
  std::uint64_t owner_ = 0;
};

/// A key, whose guard belongs to the caller that has taken it.
class keyed {
 public:
  keyed(client& owner, const std::string& path)
      : keys_{owner, path.substr(0, path.rfind('/'))}, key_{path.substr(path.rfind('/') + 1)} {}

  void lock() { held_.keep(keys_.lock(key_)); }
  bool lock(std::stop_token stop) { return held_.keep(keys_.lock(key_, std::move(stop))); }
  bool try_lock() { return held_.keep(keys_.try_lock(key_)); }
  template <class Duration>
  bool try_lock_for(Duration timeout, std::stop_token stop = {}) {
    return held_.keep(keys_.try_lock_for(key_, timeout, std::move(stop)));
  }
  template <class Time>
  bool try_lock_until(Time time, std::stop_token stop = {}) {
    return held_.keep(keys_.try_lock_until(key_, time, std::move(stop)));
  }
  void unlock() noexcept { held_.unlock(); }
  grant held() const { return held_.held(); }

 private:
  keyed_mutex keys_;
  const std::string key_;
  owned_guard held_;
};

/// A lock that coroutines wait for, each for a caller, to which the guard belongs. They go on on threads of their own.
template <class Calls>
class in_coroutines {
 public:
  template <class What>
  in_coroutines(client& owner, const What& what) : calls_{owner, what} {}

  void lock() { held_.keep(acquire()); }
  bool lock(std::stop_token stop) { return held_.keep(acquire(std::move(stop))); }
  bool try_lock() { return held_.keep(try_acquire()); }
  template <class Duration>
  bool try_lock_for(Duration timeout, std::stop_token stop = {}) {
    return held_.keep(await([&] { return calls_.try_acquire_for(threads().where(), timeout, stop); }));
  }
  template <class Time>
  bool try_lock_until(Time time) {
    return try_lock_for(time - Time::clock::now());
  }
  guard acquire() { return acquire(std::stop_token{}); }
  guard acquire(std::stop_token stop) {
    return await([&] { return calls_.acquire(threads().where(), stop); });
  }
  guard try_acquire() {
    return await([this] { return calls_.try_acquire(threads().where()); });
  }
  template <class Duration>
  guard try_acquire_for(Duration timeout) {
    return await([&] { return calls_.try_acquire_for(threads().where(), timeout, {}); });
  }
  void unlock() noexcept { held_.unlock(); }
  grant held() const { return held_.held(); }

 private:
  static pool& threads() {
    static pool all;
    return all;
  }
  template <class Begin>
  static guard await(Begin begin) {
    return awaited<guard>(std::move(begin)).get();
  }

  Calls calls_;
  owned_guard held_;
};

/// A lock of type `Lock` as a value.
template <class Lock>
class lock_of : public any_lockable {
 public:
  template <class... Arguments>
  explicit lock_of(Arguments&&... arguments) : itself{std::forward<Arguments>(arguments)...} {}

  void lock() override { itself.lock(); }
  bool lock(std::stop_token stop) override { return itself.lock(std::move(stop)); }
  bool try_lock() override { return itself.try_lock(); }
  bool try_lock_for(milliseconds timeout, std::stop_token stop) override {
    return itself.try_lock_for(timeout, std::move(stop));
  }
  bool try_lock_for(hours timeout, std::stop_token stop) override {
    return itself.try_lock_for(timeout, std::move(stop));
  }
  bool try_lock_until(steady_time time) override { return itself.try_lock_until(time); }
  bool try_lock_until(system_time time) override { return itself.try_lock_until(time); }
  void unlock() noexcept override { itself.unlock(); }
  grant held() const override { return itself.held(); }

  guard acquire() override {
    if constexpr (has_guards) return itself.acquire();
    throw std::logic_error{"this lock has no guards"};
  }
  guard acquire(std::stop_token stop) override {
    if constexpr (has_guards) return itself.acquire(std::move(stop));
    throw std::logic_error{"this lock has no guards"};
  }
  guard try_acquire() override {
    if constexpr (has_guards) return itself.try_acquire();
    throw std::logic_error{"this lock has no guards"};
  }
  guard try_acquire_for(milliseconds timeout) override {
    if constexpr (has_guards) return itself.try_acquire_for(timeout);
    throw std::logic_error{"this lock has no guards"};
  }

  Lock itself;

 private:
  static constexpr bool has_guards = requires(Lock lock) { lock.acquire(); };
};

}  // namespace latchkey::testing
