// SPDX-License-Identifier: Apache-2.0
#include <latchkey/reentrant_mutex.hpp>

#include <atomic>
#include <system_error>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/path.hpp"
#include "recipes/cohort.hpp"

namespace latchkey {

namespace detail {

/// A cohort, and how often its owner has taken it. Only the owner reads and writes what is not atomic.
class reentrance {
 public:
  reentrance(client& of, const std::string& path, mutex_options options)
      : cohort_{std::make_shared<cohort>(of.core(), path, contender_kind::lock,
                                         cohort_options::checked(options.turns, saturate(options.linger), path))},
        path_{path} {
    cohort_->open();
  }
  ~reentrance() { cohort_->shut(); }
  reentrance(const reentrance&) = delete;
  reentrance& operator=(const reentrance&) = delete;

  bool take(duration timeout, std::stop_token stop) {
    const auto me = current_fiber();
    if (owner_ == me && held_.loss() != loss_reason::client_closed) {  // of which the cohort tells
      if (!held_) {
        throw error{
            errc::lock_lost,
            "the lock was lost while this fiber held it; unlock it as often as it was locked, then lock it again",
            path_};
      }
      if (stop.stop_requested()) return false;
      ++depth_;
      return true;
    }
    if (!cohort_->acquire(timeout, std::move(stop))) return false;
    held_ = cohort_->held();
    depth_ = 1;
    owner_ = me;
    return true;
  }

  bool release() noexcept {
    if (owner_ != current_fiber()) return false;
    if (--depth_ != 0) return true;
    held_ = {};
    owner_ = nobody;
    cohort_->unlock();
    return true;
  }

  std::size_t depth() const noexcept { return owner_ == current_fiber() ? depth_ : 0; }
  grant held() const { return cohort_->held(); }

 private:
  static constexpr std::uint64_t nobody = 0;

  const std::shared_ptr<cohort> cohort_;
  const std::string path_;
  std::atomic<std::uint64_t> owner_{nobody};
  std::size_t depth_ = 0;
  grant held_;
};

}  // namespace detail

reentrant_mutex::reentrant_mutex(client& owner, std::string path, mutex_options options) : path_{std::move(path)} {
  detail::validate_lock_path(path_);
  state_ = std::make_unique<detail::reentrance>(owner, path_, options);
}

reentrant_mutex::~reentrant_mutex() = default;

bool reentrant_mutex::acquire(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return state_->take(timeout, std::move(stop));
}

void reentrant_mutex::unlock() noexcept {
  if (state_->release()) return;
  detail::log(log_level::error,
              fmt::format("{}: a fiber that has not locked it called unlock(); the call was ignored", path_));
}

void reentrant_mutex::unlock_checked() {
  if (state_->release()) return;
  throw std::system_error{std::make_error_code(std::errc::operation_not_permitted),
                          path_ + ": this fiber has not locked it; unlock it on the fiber that has"};
}

std::size_t reentrant_mutex::depth() const noexcept { return state_->depth(); }

grant reentrant_mutex::held() const { return state_->held(); }

}  // namespace latchkey
