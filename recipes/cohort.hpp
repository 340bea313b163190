// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The callers of one lock object, who share an entry in turns.

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "queue/grant_state.hpp"
#include "queue/linger.hpp"
#include "queue/queue_entry.hpp"
#include "queue/remote_waiters.hpp"
#include "queue/wait_list.hpp"
#include "recipes/anticipation.hpp"
#include "recipes/rules.hpp"

namespace latchkey::detail {

struct cohort_options {
  std::uint32_t turns = 16;  ///< once a remote waiter is known
  duration linger{};         ///< how long an idle entry is kept; zero: not at all

  /// @throws error bad_option
  static cohort_options checked(std::uint32_t turns, duration linger, const std::string& path);
};

/// Callers wait in a wait list, in the order of their arrival. The first of them creates an entry in the queue. While
/// that is granted it passes from caller to caller without a request: as long as there are no remote waiters, and for a
/// bounded number of turns otherwise; then it is deleted, and a new one is created at the end.
///
/// Every turn is a grant of its own, with its own fencing token. After a loss the turn stays with its caller until that
/// unlocks, so that callers of one object never overlap.
class cohort final : public entry_listener, public session_observer, public std::enable_shared_from_this<cohort> {
 public:
  /// @param path as the user calls it; below the chroot
  cohort(std::shared_ptr<client_core> core, std::string path, contender_kind kind, cohort_options options);
  void open();
  /// Releases what is held, ends every wait.
  void shut() noexcept;

  /// Waits: suspends the fiber or blocks the thread. Without the monitor. @returns whether the lock was taken.
  bool acquire(duration timeout, std::stop_token stop);
  void unlock() noexcept;
  grant held();

  // With the monitor: the same without waiting.
  std::shared_ptr<waiter> enter(std::uint64_t fiber, limit how);
  void cancel(const std::shared_ptr<waiter>& who);
  void leave();
  grant current() const { return owner_ ? owner_->as_grant() : grant{}; }
  bool is_owned() const noexcept { return owner_ != nullptr; }
  bool is_owner(std::uint64_t fiber) const noexcept { return owner_ && owning_fiber_ == fiber; }
  bool idle() const noexcept { return !owner_ && line_.empty(); }

  /// No caller is admitted while `open` returns false, even if the entry is granted; `gate_opened()` asks again.
  void gate(std::function<bool()> open) { gate_ = std::move(open); }
  void gate_opened();

  /// @pre is_owned(). The owner's entry becomes that of a reader. `done` is given that entry, or nothing if it was
  /// lost, and the number of turns it has had.
  void downgrade(std::function<void(std::shared_ptr<queue_entry>, std::uint32_t)> done);

 private:
  friend class linger;

  void on_granted() override;
  void on_refused() override;
  void on_suspect() override;
  void on_lost(loss_reason why) override;
  void on_failed(const failure& why) override;
  void on_asked_to_release() override;
  void on_downgraded() override;
  void on_connected() override {}
  void on_session_over() override;
  void on_failure(const failure& why) override { on_failed(why); }

  void take_place();
  void give_up_place();
  void leave_place();
  std::shared_ptr<queue_entry> take_leave();
  void pass_on();
  std::shared_ptr<grant_state> own(fencing_token fence);
  void go_on(time_point now);
  bool may_go_on();
  void become_idle(time_point now);
  bool lingers() const noexcept { return lingering_; }
  void end_of_linger() { give_up_place(); }
  void on_remote_waiters();

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const std::shared_ptr<const std::string> absolute_ = std::make_shared<const std::string>(core_->absolute(path_));
  const contender_kind kind_;
  const cohort_options options_;
  std::uint64_t observing_ = 0;
  wait_list line_;
  std::shared_ptr<queue_entry> entry_;
  std::uint32_t turns_ = 0;    // the number of the next turn of this entry; 0: its first
  std::uint32_t counted_ = 0;  // of them, those that remote waiters may have waited for
  anticipation anticipation_;
  std::unique_ptr<former_place> former_;
  std::shared_ptr<remote_waiters> remote_waiters_;
  bool asked_to_release_ = false;  // this entry
  std::shared_ptr<grant_state> owner_;
  std::shared_ptr<grant_state> spare_;  // of a turn that is over; used again if no grant refers to it
  std::uint64_t owning_fiber_ = 0;
  bool lingering_ = false;  // no caller wants the entry; it is kept
  linger linger_{core_->monitor(), options_.linger};
  std::function<bool()> gate_;
  std::function<void(std::shared_ptr<queue_entry>, std::uint32_t)> on_downgraded_;
};

}  // namespace latchkey::detail
