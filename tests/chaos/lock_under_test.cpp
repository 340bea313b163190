// SPDX-License-Identifier: Apache-2.0
#include "lock_under_test.hpp"

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <concepts>
#include <mutex>
#include <utility>

#include <latchkey/election.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/robust_mutex.hpp>
#include <latchkey/semaphore.hpp>

namespace chaos {

namespace {

template <class Lock>
class exclusive_lock final : public lock_under_test {
 public:
  template <class... Options>
  exclusive_lock(latchkey::client& client, const std::string& path, Options... options)
      : lock_{client, path, options...} {}

  void lock(access) override { lock_.lock(); }
  bool lock(access, std::stop_token stop) override { return lock_.lock(std::move(stop)); }
  bool try_lock(access) override { return lock_.try_lock(); }
  bool try_lock_for(access, std::chrono::milliseconds timeout) override { return lock_.try_lock_for(timeout); }
  void unlock(access) noexcept override { lock_.unlock(); }
  latchkey::grant held(access) const override { return lock_.held(); }

  latchkey::reentrant_mutex* as_reentrant() noexcept override { return as<latchkey::reentrant_mutex>(); }
  latchkey::fair_mutex* as_fair() noexcept override { return as<latchkey::fair_mutex>(); }

 private:
  template <class Wanted>
  Wanted* as() noexcept {
    if constexpr (std::same_as<Wanted, Lock>) return &lock_;
    return nullptr;
  }

  Lock lock_;
};

/// Takes its path and another one, which is that of all groups.
class group : public latchkey::multi_lock {
 public:
  group(latchkey::client& client, const std::string& path) : multi_lock{client, {{path}, {"/chaos/beside/lock"}}} {}
};

/// A guard, which belongs to the fiber that has taken the lock last: one that has lost it may still be there.
class kept_guard {
 public:
  /// @returns whether the lock was taken
  bool keep(latchkey::guard taken) {
    if (taken.grant() == latchkey::grant{}) return false;
    const std::lock_guard lock{mutex_};
    std::swap(held_, taken);
    owner_ = boost::this_fiber::get_id();
    return true;
  }
  void release() noexcept {
    latchkey::guard mine;
    const std::lock_guard lock{mutex_};
    if (owner_ == boost::this_fiber::get_id()) mine = std::move(held_);
  }
  latchkey::grant held() const {
    const std::lock_guard lock{mutex_};
    return owner_ == boost::this_fiber::get_id() ? held_.grant() : latchkey::grant{};
  }

 private:
  mutable std::mutex mutex_;
  latchkey::guard held_;
  boost::fibers::fiber::id owner_;
};

class key_lock final : public lock_under_test {
 public:
  key_lock(latchkey::client& client, const std::string& path, const latchkey::mutex_options& how)
      : keys_{client, path.substr(0, path.rfind('/')), {.lock = how}}, key_{path.substr(path.rfind('/') + 1)} {}

  void lock(access) override { held_.keep(keys_.lock(key_)); }
  bool lock(access, std::stop_token stop) override { return held_.keep(keys_.lock(key_, std::move(stop))); }
  bool try_lock(access) override { return held_.keep(keys_.try_lock(key_)); }
  bool try_lock_for(access, std::chrono::milliseconds timeout) override {
    return held_.keep(keys_.try_lock_for(key_, timeout));
  }
  void unlock(access) noexcept override { held_.release(); }
  latchkey::grant held(access) const override { return held_.held(); }

 private:
  latchkey::keyed_mutex keys_;
  const std::string key_;
  kept_guard held_;
};

class read_write_lock final : public lock_under_test {
 public:
  read_write_lock(latchkey::client& client, const std::string& path, latchkey::shared_mutex_options options)
      : lock_{client, path, options} {}

  void lock(access how) override { reads(how) ? lock_.lock_shared() : lock_.lock(); }
  bool lock(access how, std::stop_token stop) override {
    return reads(how) ? lock_.lock_shared(std::move(stop)) : lock_.lock(std::move(stop));
  }
  bool try_lock(access how) override { return reads(how) ? lock_.try_lock_shared() : lock_.try_lock(); }
  bool try_lock_for(access how, std::chrono::milliseconds timeout) override {
    return reads(how) ? lock_.try_lock_shared_for(timeout) : lock_.try_lock_for(timeout);
  }
  void unlock(access how) noexcept override { reads(how) ? lock_.unlock_shared() : lock_.unlock(); }
  latchkey::grant held(access how) const override { return reads(how) ? lock_.held_shared() : lock_.held(); }

  latchkey::shared_mutex* as_shared() noexcept override { return &lock_; }

 private:
  static bool reads(access how) noexcept { return how == access::shared; }

  latchkey::shared_mutex lock_;
};

class one_permit final : public lock_under_test {
 public:
  one_permit(latchkey::client& client, const std::string& path, latchkey::semaphore_options options)
      : permits_{client, path, 1, std::move(options)} {}

  void lock(access) override { held_.keep(permits_.acquire()); }
  bool lock(access, std::stop_token stop) override { return held_.keep(permits_.acquire(std::move(stop))); }
  bool try_lock(access) override { return held_.keep(permits_.try_acquire()); }
  bool try_lock_for(access, std::chrono::milliseconds timeout) override {
    return held_.keep(permits_.try_acquire_for(timeout));
  }
  void unlock(access) noexcept override { held_.release(); }
  latchkey::grant held(access) const override { return held_.held(); }

 private:
  latchkey::semaphore permits_;
  kept_guard held_;
};

}  // namespace

std::unique_ptr<lock_under_test> make_lock(family which, latchkey::client& client, const std::string& path,
                                           lock_options how) {
  using latchkey::mutex_options;
  switch (which) {
    case family::mutex:
      return std::make_unique<exclusive_lock<latchkey::mutex>>(client, path,
                                                               mutex_options{.turns = how.turns, .how = how.hand_off});
    case family::linger:
      return std::make_unique<exclusive_lock<latchkey::mutex>>(
          client, path, mutex_options{.turns = how.turns, .linger = how.linger, .how = how.hand_off});
    case family::reentrant:
      return std::make_unique<exclusive_lock<latchkey::reentrant_mutex>>(
          client, path, mutex_options{.turns = how.turns, .how = how.hand_off});
    case family::robust:
      return std::make_unique<exclusive_lock<latchkey::robust_mutex>>(
          client, path, latchkey::robust_mutex_options{.turns = how.turns});
    case family::fair:
      return std::make_unique<exclusive_lock<latchkey::fair_mutex>>(client, path,
                                                                    latchkey::fair_mutex_options{.how = how.hand_off});
    case family::shared:
      return std::make_unique<read_write_lock>(
          client, path, latchkey::shared_mutex_options{.turns = how.turns, .linger = how.linger});
    case family::keyed:
      return std::make_unique<key_lock>(client, path,
                                        mutex_options{.turns = how.turns, .linger = how.linger, .how = how.hand_off});
    case family::election:
      return std::make_unique<exclusive_lock<latchkey::election>>(client, path);
    case family::group:
      return std::make_unique<exclusive_lock<group>>(client, path);
    case family::foreign:
      break;
    case family::semaphore:
      return std::make_unique<one_permit>(client, path,
                                          latchkey::semaphore_options{.turns = how.turns, .linger = how.linger});
  }
  return nullptr;
}

}  // namespace chaos
