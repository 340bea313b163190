// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The place in a queue that the callers of one lock object share, in turns.

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "queue/ownership.hpp"
#include "queue/ticket.hpp"

namespace latchkey::detail {

/// For how long a caller is willing to wait.
struct limit {
  bool once = false;  ///< for the ensemble's answer only
  time_point deadline = never;

  static limit within(duration timeout, time_point now) noexcept {
    if (timeout <= duration::zero()) return {true, never};
    return {false, deadline_after(now, timeout)};
  }
};

/// One call that waits for its turn. Its fields are settled when its wait point is notified.
struct caller {
  enum class outcome { waiting, granted, refused, failed };
  using line = std::list<std::shared_ptr<caller>>;

  wait_point point;
  std::uint64_t fiber = 0;
  bool once = false;
  outcome what = outcome::waiting;
  failure why;
  timer_id timer;
  line::iterator at;  // while it waits
};

/// Callers wait in a local line, in the order of their arrival. The first of them takes a place in the queue; while it
/// is granted it passes from caller to caller without a request, for a bounded number of turns, after which it is given
/// up and taken again at the end. Every turn is a grant of its own, with its own fencing token. After a loss the turn
/// stays with its caller until that unlocks, so that callers of one object never overlap.
class seat final : public ticket_listener, public session_observer, public std::enable_shared_from_this<seat> {
 public:
  /// @param path as the user calls it; below the chroot
  seat(std::shared_ptr<client_core> core, std::string path, contender_kind kind, std::uint32_t turns);
  void open();
  /// Releases what is held, ends every wait.
  void shut() noexcept;

  /// Waits: suspends the fiber or blocks the thread. Without the strand. @returns whether the lock was taken.
  bool acquire(duration timeout, std::stop_token stop);
  void unlock() noexcept;
  grant held();

  // With the strand: the same without waiting.
  std::shared_ptr<caller> enter(std::uint64_t fiber, limit how);
  void cancel(const std::shared_ptr<caller>& who);
  void leave();
  grant current() const { return owner_ ? owner_->as_grant() : grant{}; }

 private:
  void on_granted() override;
  void on_refused() override;
  void on_suspect() override;
  void on_lost(loss_reason why) override;
  void on_failed(const failure& why) override;
  void on_connected() override {}
  void on_session_over() override {}
  void on_failure(const failure& why) override { on_failed(why); }

  void set_timer(const std::shared_ptr<caller>& who, limit how);
  void take_place();
  void give_up_place();
  void pass_on();
  void settle(const std::shared_ptr<caller>& who, caller::outcome what);

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const contender_kind kind_;
  const std::uint32_t max_turns_;
  std::uint64_t observing_ = 0;
  caller::line line_;
  std::shared_ptr<ticket> ticket_;
  std::uint32_t turns_ = 0;  // of this ticket
  std::shared_ptr<ownership> owner_;
  std::uint64_t owning_fiber_ = 0;
};

}  // namespace latchkey::detail
