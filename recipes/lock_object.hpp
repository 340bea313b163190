// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the lock objects have in common: who holds them, and the calls.

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "base/process.hpp"
#include "queue/guarded.hpp"
#include "queue/wait_list.hpp"
#include "recipes/lock_holders.hpp"

namespace latchkey::detail {

/// Logs that another than the holder has called `unlock()` or `unlock_shared()`.
/// @param abandoned whether the holder cannot call it: it has ended
void log_wrong_unlock(const std::string& path, const char* call, bool abandoned = false);

/// @throws error bad_option if locks of this client cannot be handed off so
void require_peers(client_core& core, hand_off how, const std::string& path);

/// The calls of a `Lock`, made of those that do not wait: `enter`, `cancel`, `leave`, and `holding`, which finds what a
/// caller holds: of an exclusive lock what its holder has, whoever asks. Without the monitor, except where stated.
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
  guard guard_of_holder() { return guard_of(current_fiber()); }
  guard guard_of(std::uint64_t holder) {
    return own().run([&] {
      auto* const mine = me().holding(holder);
      if (!mine) return guard{};  // the lock object was destroyed meanwhile
      mine->guarded = true;
      return make_guard(std::static_pointer_cast<Lock>(me().shared_from_this()), mine->grant->as_grant(), mine->by);
    });
  }

  /// Logs an error, and does nothing else, if the calling fiber does not hold the lock, or holds it with a guard.
  void unlock() noexcept {
    const auto fiber = current_fiber();
    bool abandoned = false;
    const bool is_holder = own().forked() || own().run([&] {
      const auto* const mine = me().holding(fiber);
      if (mine && mine->unlocks(fiber)) return me().leave(fiber), true;
      abandoned = me().abandoned();
      return false;
    });
    if (!is_holder) log_wrong_unlock(me().path_, Lock::call_to_unlock, abandoned);
  }

  grant held() {
    const auto fiber = current_fiber();
    return own().run_unless_forked([&] { return current(fiber); });
  }

  /// The guard may hold the last reference, also in a forked child, where the entries are not to be touched.
  void release_grant(std::uint64_t holder, const grant& what) noexcept override {
    if (own().forked()) return keep_for_ever(me().shared_from_this());
    own().run([&] {
      const auto* const mine = me().holding(holder);
      if (mine && mine->is(what)) me().leave(mine->by);
    });
  }

  std::uint64_t disown(std::uint64_t holder, const grant& what) noexcept override {
    return own().run_unless_forked([&] {
      auto* const mine = me().holding(holder);
      return mine && mine->is(what) ? me().holders_.disown(*mine) : holder;
    });
  }

  /// With the monitor.
  grant current(std::uint64_t fiber = 0) {
    const auto* const mine = me().holding(fiber);
    return mine ? mine->grant->as_grant() : grant{};
  }

 protected:
  ~lock_calls() override = default;

 private:
  Lock& me() noexcept { return static_cast<Lock&>(*this); }
  monitor& own() noexcept { return me().core_->monitor(); }
};

}  // namespace latchkey::detail
