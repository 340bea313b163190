// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the lock objects have in common: who holds them, and the calls.

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "base/sole_owner.hpp"
#include "queue/grant_state.hpp"
#include "queue/guarded.hpp"
#include "queue/wait_list.hpp"

namespace latchkey::detail {

/// Begins a grant in `state`, which is used again if no `grant` refers to it.
inline void begin_grant(std::shared_ptr<grant_state>& state, const std::shared_ptr<client_core>& core,
                        const std::string& path, lock_counts& counts, const std::string& node, fencing_token fence,
                        time_point now) {
  if (state && is_sole_owner(state)) return state->begin_again(node, fence, now);
  state = std::make_shared<grant_state>(core, path, counts, node, fence, now);
}

/// Logs that another than the holder has called `unlock()` or `unlock_shared()`.
/// @param abandoned whether the holder cannot call it: it has ended
void log_wrong_unlock(const std::string& path, const char* call, bool abandoned = false);

/// Warns of a lock object that is destroyed while a guard holds its lock.
void log_guard_left(const std::string& path);

/// @throws error bad_option if locks of this client cannot be handed off so
void require_peers(client_core& core, hand_off how, const std::string& path);

/// Stands for a holder that is no fiber: a guard that has been moved. Unlike any fiber.
std::uint64_t new_holder() noexcept;
constexpr bool is_new_holder(std::uint64_t holder) noexcept { return holder >> 63 != 0; }

/// The caller that holds a lock object, until it unlocks: also after a loss. With the monitor held.
class owner {
 public:
  owner(std::shared_ptr<client_core> core, std::string path, lock_counts& counts)
      : core_{std::move(core)}, path_{std::move(path)}, counts_{counts} {}

  explicit operator bool() const noexcept { return present_; }
  bool is(std::uint64_t fiber) const noexcept { return present_ && fiber_ == fiber; }
  bool is(const grant& what) const { return present_ && current() == what; }
  /// @returns whether `unlock()` on this fiber is for it: not if it has a guard.
  bool unlocks(std::uint64_t fiber) const noexcept { return is(fiber) && !guarded_; }
  /// @returns whether it has ended without `unlock()`.
  bool abandoned() const { return present_ && !guarded_ && !is_new_holder(fiber_) && has_ended(fiber_); }
  grant current() const { return present_ ? grant_->as_grant() : grant{}; }
  /// @pre it is there
  grant_state& state() const noexcept { return *grant_; }

  /// Throws if `fiber` holds the lock: it would wait for itself.
  void refuse(std::uint64_t fiber) const {
    if (is(fiber))
      refuse_deadlock(path_, "already holds the lock; unlock it first (only a reentrant_mutex may be locked again)");
  }

  /// @pre it is not there
  void begin(std::uint64_t fiber, const std::string& node, fencing_token fence, time_point now) {
    begin_grant(grant_, core_, path_, counts_, node, fence, now);
    fiber_ = fiber;
    present_ = true;
    guarded_ = false;
  }

  /// @pre it is not there. What it holds next is the lock at `path`.
  void rename(const std::string& path) {
    if (path_ == path) return;
    path_ = path;
    grant_ = nullptr;
  }

  /// It has a guard, which alone releases the lock.
  void give_guard() noexcept { guarded_ = true; }
  /// Of the destructor of the lock object.
  void warn_of_guard() const {
    if (present_ && guarded_ && !grant_->ended()) log_guard_left(path_);
  }
  /// It is no fiber any more: its guard has been moved.
  void disown() noexcept { fiber_ = new_holder(); }

  /// @pre it is there
  void end(time_point now) {
    grant_->release(now);
    present_ = false;
  }

 private:
  const std::shared_ptr<client_core> core_;
  std::string path_;
  lock_counts& counts_;
  std::shared_ptr<grant_state> grant_;  // the last one
  std::uint64_t fiber_ = 0;
  bool present_ = false;
  bool guarded_ = false;
};

/// The calls of a `Lock`, made of those that do not wait: `enter`, `cancel`, `leave`, `current`, and `holder()`, its
/// `owner`. Without the monitor.
template <class Lock>
class lock_calls : public guarded {
 public:
  /// Waits: suspends the fiber or blocks the thread. @returns whether the lock was taken.
  bool acquire(duration timeout, std::stop_token stop) {
    return call(
        own(), timeout, std::move(stop), [this](auto fiber, auto until) { return me().enter(fiber, until); },
        [this](const auto& who) { me().cancel(who); });
  }

  /// As `acquire`. @returns its guard; an empty one if the lock was not taken.
  guard acquire_guard(duration timeout, std::stop_token stop) {
    return acquire(timeout, std::move(stop)) ? guard_of_holder() : guard{};
  }

  /// @pre the caller has just taken it. @returns its guard.
  guard guard_of_holder() {
    return own().run([this] {
      me().holder().give_guard();
      return make_guard(std::static_pointer_cast<Lock>(me().shared_from_this()), me().current(), 0);
    });
  }

  /// Logs an error, and does nothing else, if the calling fiber does not hold the lock, or holds it with a guard.
  void unlock() noexcept {
    const auto fiber = current_fiber();
    bool abandoned = false;
    const bool is_holder = own().forked() || own().run([&] {
      if (me().holder().unlocks(fiber)) return me().leave(), true;
      abandoned = me().holder().abandoned();
      return false;
    });
    if (!is_holder) log_wrong_unlock(me().path_, "unlock()", abandoned);
  }

  grant held() {
    return own().run_unless_forked([this] { return me().current(); });
  }

  void release_grant(std::uint64_t, const grant& what) noexcept override {
    own().run_unless_forked([&] {
      if (me().holder().is(what)) me().leave();
    });
  }

  std::uint64_t disown(std::uint64_t, const grant& what) noexcept override {
    own().run_unless_forked([&] {
      if (me().holder().is(what)) me().holder().disown();
    });
    return 0;
  }

 protected:
  ~lock_calls() override = default;

 private:
  Lock& me() noexcept { return static_cast<Lock&>(*this); }
  monitor& own() noexcept { return me().core_->monitor(); }
};

}  // namespace latchkey::detail
