// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The calls of one lock object.

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "queue/guarded.hpp"
#include "queue/wait_list.hpp"
#include "recipes/line/lock_holders.hpp"

namespace latchkey::detail {

/// Why `unlock()` or `unlock_shared()` does nothing.
enum class unlock_fault : std::uint8_t {
  by_another,       ///< the caller is not the holder
  owner_has_ended,  ///< nor can the holder call it
  guarded,          ///< a guard releases the lock
  other_way,        ///< the caller holds it in the other mode
};

/// The calls of `unlock()` that one lock object has ignored.
class ignored_unlocks {
 public:
  /// Logs the first, the second, the fourth and so on: a loop may make many.
  /// @param other the call for the other mode
  void add(const std::string& path, const char* call, unlock_fault why, const char* other = "");

 private:
  std::atomic<std::uint64_t> count_ = 0;
};

/// @throws error bad_option if locks of this client cannot be handed off so
void require_peers(client_core& core, hand_off how, const std::string& path);

/// The calls of one lock object, in the order of their arrival: a call waits, or holds. What they wait with, and hold the
/// lock by, is up to a policy, which lets them in.
class lock_line : public guarded, public std::enable_shared_from_this<lock_line> {
 public:
  // Without the monitor:

  /// Waits: suspends the fiber or blocks the thread. @returns whether the lock was taken.
  bool acquire(duration timeout, std::stop_token stop);
  /// As `acquire`. @returns its guard; an empty one if the lock was not taken.
  guard acquire_guard(duration timeout, std::stop_token stop);
  /// @pre the caller has just taken it. @returns its guard. @throws error lock_destroyed meanwhile
  guard guard_of_holder() { return guard_of(words_.exclusive ? 0 : current_fiber()); }
  guard guard_of(std::uint64_t holder);
  /// Logs an error, and does nothing else, if the calling fiber does not hold the lock, or holds it with a guard.
  void unlock() noexcept;
  grant held();
  void release_grant(std::uint64_t holder, const grant& what) noexcept override;
  std::uint64_t disown(std::uint64_t holder, const grant& what) noexcept override;
  /// Releases what is held, ends every wait.
  void shut() noexcept;

  // From anywhere:
  const std::shared_ptr<client_core>& core() const noexcept { return core_; }
  const std::string& path() const noexcept { return path_; }

  // With the monitor: the same without waiting.

  /// @returns the call, which waits or is concluded. @throws error; resource_deadlock_would_occur if it would wait for
  /// itself
  /// @param wish of the waiter, for a policy that needs one
  std::shared_ptr<waiter> enter(std::uint64_t fiber, time_point until, const std::shared_ptr<void>& wish = nullptr);
  void cancel(const std::shared_ptr<waiter>& who);
  void leave(std::uint64_t fiber = 0);
  /// @returns what a caller holds; of an exclusive lock always what its holder has.
  hold* holding(std::uint64_t fiber) noexcept { return words_.exclusive ? holders_.only() : holders_.find(fiber); }
  grant current(std::uint64_t fiber = 0);

  /// No caller is let in while one holds `other`, an object at the same path.
  /// @param why a caller that holds `other` would wait for itself; see `refuse_deadlock`
  void exclude(lock_line& other, const char* why);
  /// Of the limit of its holders.
  time_point end_overdue(time_point now) {
    return holders_.end_overdue(now, [this](hold& each) { on_overdue(each); });
  }

 protected:
  /// What readers and others say differently.
  struct wording {
    const char* unlock;
    const char* already;  // see `refuse_deadlock`
    bool exclusive;
  };
  static const wording alone;

  /// @param path as the user calls it; below the chroot
  /// @param counts of the group of locks that it counts for
  /// @param max_hold how long one caller may hold; zero: for ever
  lock_line(std::shared_ptr<client_core> core, std::string path, const rule& kind, lock_counts& counts,
            duration max_hold, const wording& words = alone);
  ~lock_line() override = default;

  /// @returns whether a try of that fiber is refused at once.
  virtual bool is_hopeless(std::uint64_t fiber) = 0;
  /// A call has come that waits.
  virtual void begin(const std::shared_ptr<waiter>& me) = 0;
  /// A call that waits gives up.
  virtual void withdraw(const std::shared_ptr<waiter>& me) = 0;
  /// A holder has unlocked.
  virtual void end(hold& mine, time_point now) = 0;
  /// That one is a holder no more; what it rests on is of no use to it.
  virtual void on_overdue(hold& which) = 0;
  /// The other one has no holders.
  virtual void gate_opened() {}
  /// Ends every wait, and releases what is held, and what the calls have waited with.
  virtual void let_go() = 0;
  /// Perhaps no call waits or holds any more.
  virtual void rest_if_unused() {}
  virtual kept_by what_keeps();

  /// Throws if the client has failed, or the object is being destroyed.
  void require_open() const {
    require_working(*core_, path_);
    if (shut_) throw_destroyed(path_);
  }
  /// Throws if `fiber` holds the lock: it would wait for itself.
  void require_no_holder(std::uint64_t fiber);
  kept_by holders_keep();
  bool gate_open() const noexcept { return !other_ || other_->holders_.empty(); }

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  lock_counts& counts_;
  wait_list line_;
  lock_holders holders_;
  std::atomic<bool> shut_ = false;  // read without the monitor by a call that has waited

 private:
  bool wait_for(duration timeout, std::stop_token stop, std::shared_ptr<lock_line>& self);
  void leave(hold& mine);

  const wording& words_;
  ignored_unlocks ignored_;
  lock_line* other_ = nullptr;  // see `exclude`
  const char* why_not_both_ = nullptr;
};

}  // namespace latchkey::detail
