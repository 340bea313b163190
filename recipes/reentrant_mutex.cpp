// SPDX-License-Identifier: Apache-2.0
#include <latchkey/reentrant_mutex.hpp>

#include <mutex>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "recipes/line/cohort.hpp"
#include "recipes/rules.hpp"

namespace latchkey {

namespace detail {

/// A cohort, and how often its owner has taken it.
class reentrance final : public guarded, public std::enable_shared_from_this<reentrance> {
 public:
  reentrance(client& of, const std::string& path, mutex_options options)
      : core_{of.core()},
        cohort_{std::make_shared<cohort>(core_, path, contender_kind::lock, cohort_options::checked(options, path))},
        path_{path} {}
  void shut() noexcept { cohort_->shut(); }

  bool take(duration timeout, std::stop_token stop) {
    const auto me = current_fiber();
    if (forked()) return cohort_->acquire(timeout, std::move(stop));  // which throws
    if (const std::lock_guard lock{mutex_}; owner_ == me && held_.loss() != loss_reason::client_closed) {
      if (!held_) {
        const auto* const how = held_.loss() ? "lost while its caller held it" : "released by a transaction";
        throw error{errc::lock_lost,
                    fmt::format("the lock was {}; unlock it as often as it was locked, then lock it again", how),
                    path_};
      }
      if (stop.stop_requested()) return false;
      ++depth_;
      return true;
    }
    const auto self = shared_from_this();  // the lock object may be destroyed while this waits
    if (!cohort_->acquire(timeout, std::move(stop))) return false;
    const std::lock_guard lock{mutex_};
    held_ = cohort_->held();
    if (held_ == grant{}) throw_destroyed(path_);
    depth_ = 1;
    owner_ = me;
    return true;
  }

  /// Throws in a forked child.
  void require_home() {
    if (forked()) core_->monitor().run([] {});
  }

  guard take_guard(duration timeout, std::stop_token stop) {
    auto self = shared_from_this();
    if (!take(timeout, std::move(stop))) return {};
    const std::lock_guard lock{mutex_};
    if (++guards_ == depth_) cohort_->disown(0, held_);
    return make_guard(std::move(self), held_, 0);
  }

  bool unlock() noexcept {
    if (forked()) return true;
    const std::lock_guard lock{mutex_};
    if (owner_ != current_fiber() || depth_ == guards_) return false;
    leave();
    return true;
  }

  void release_grant(std::uint64_t holder, const grant& what) noexcept override {
    if (forked()) return;
    const std::lock_guard lock{mutex_};
    if (guards_ == 0 || held_ != what) return;
    --guards_;
    if (holder == no_holder) --moved_;
    leave();
  }

  std::uint64_t disown(std::uint64_t holder, const grant& what) noexcept override {
    if (forked()) return no_holder;
    const std::lock_guard lock{mutex_};
    if (guards_ != 0 && held_ == what && holder != no_holder) {
      ++moved_;
      leave_to_moved_guards();
    }
    return no_holder;
  }

  void unlock_or_say_why() {
    if (!unlock()) ignored_.add(path_, "unlock()", fault());
  }

  std::size_t depth() const noexcept {
    if (forked()) return 0;
    const std::lock_guard lock{mutex_};
    return owner_ == current_fiber() ? depth_ : 0;
  }
  grant held() const { return cohort_->held(); }

 private:
  static constexpr std::uint64_t no_fiber = 0;
  static constexpr std::uint64_t no_holder = 1;  // the holder of a guard that has been moved

  /// @returns why `unlock()` does nothing.
  unlock_fault fault() const {
    const std::lock_guard lock{mutex_};
    if (depth_ != 0 && depth_ == guards_) return unlock_fault::guarded;
    return owner_ != no_fiber && has_ended(owner_) ? unlock_fault::owner_has_ended : unlock_fault::by_another;
  }

  /// A thread of the parent may have held the mutex at the moment of the fork: it is not taken then.
  bool forked() const noexcept { return core_->monitor().forked(); }

  void leave() noexcept {
    if (--depth_ != 0) return leave_to_moved_guards();
    owner_ = no_fiber;
    cohort_->release_grant(0, std::exchange(held_, {}));
  }

  /// Once no other level is left, the fiber that has taken the lock waits as any other.
  void leave_to_moved_guards() noexcept {
    if (depth_ != moved_) return;
    owner_ = no_fiber;
    cohort_->disown(0, held_);
  }

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<cohort> cohort_;
  const std::string path_;
  ignored_unlocks ignored_;
  mutable std::mutex mutex_;  // before the monitor
  std::uint64_t owner_ = no_fiber;
  std::size_t depth_ = 0;
  std::size_t guards_ = 0;  // of the levels
  std::size_t moved_ = 0;   // of the guards
  grant held_;
};

}  // namespace detail

reentrant_mutex::reentrant_mutex(client& owner, given_text<std::string> path, mutex_options options)
    : path_{std::move(path)} {
  detail::require_lock_path(path_, owner.core()->chroot());
  detail::require_peers(*owner.core(), options.how, path_);
  state_ = std::make_shared<detail::reentrance>(owner, path_, options);
}

reentrant_mutex::~reentrant_mutex() { state_->shut(); }

bool reentrant_mutex::take(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return state_->take(timeout, std::move(stop));
}

guard reentrant_mutex::take_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return state_->take_guard(timeout, std::move(stop));
}

void reentrant_mutex::unlock() noexcept { state_->unlock_or_say_why(); }

void reentrant_mutex::unlock_checked() {
  state_->require_home();
  if (state_->unlock()) return;
  throw std::system_error{
      std::make_error_code(std::errc::operation_not_permitted),
      fmt::format("{}: this {} has not locked it, or only with guards; unlock it where it was locked", path_,
                  detail::kind_of_caller())};
}

std::size_t reentrant_mutex::depth() const noexcept { return state_->depth(); }

grant reentrant_mutex::held() const { return state_->held(); }

}  // namespace latchkey
