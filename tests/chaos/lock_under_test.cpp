// SPDX-License-Identifier: Apache-2.0
#include "lock_under_test.hpp"

#include <concepts>
#include <utility>

#include <latchkey/election.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>

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

}  // namespace

std::unique_ptr<lock_under_test> make_lock(family which, latchkey::client& client, const std::string& path,
                                           lock_options how) {
  using latchkey::mutex_options;
  switch (which) {
    case family::mutex:
      return std::make_unique<exclusive_lock<latchkey::mutex>>(client, path, mutex_options{.turns = how.turns});
    case family::linger:
      return std::make_unique<exclusive_lock<latchkey::mutex>>(client, path, mutex_options{how.turns, how.linger});
    case family::reentrant:
      return std::make_unique<exclusive_lock<latchkey::reentrant_mutex>>(client, path,
                                                                         mutex_options{.turns = how.turns});
    case family::fair:
      return std::make_unique<exclusive_lock<latchkey::fair_mutex>>(client, path);
    case family::shared:
      return std::make_unique<read_write_lock>(
          client, path, latchkey::shared_mutex_options{.turns = how.turns, .linger = how.linger});
    case family::election:
      return std::make_unique<exclusive_lock<latchkey::election>>(client, path);
    case family::group:
      return std::make_unique<exclusive_lock<group>>(client, path);
  }
  return nullptr;
}

}  // namespace chaos
