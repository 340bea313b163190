// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The callers of one semaphore object, and the permits that they hold.

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "recipes/line/cohort.hpp"
#include "recipes/line/lazy_timer.hpp"
#include "recipes/line/lock_line.hpp"
#include "recipes/semaphore/permit.hpp"
#include "recipes/semaphore/permit_queue.hpp"

namespace latchkey::detail {

/// A line whose calls hold permits. The first call that waits queues at the ensemble (`permit_queue`). Permits that a
/// caller gives back pass to the first who waits, without a request: as long as no remote contender waits, and for a
/// bounded number of turns otherwise.
///
/// After a loss the permits count as held until their caller gives them back, so that callers of one object never hold
/// more than there are.
class permit_line final : public lock_line, public session_observer, public permit_owner, public permit_queue_listener {
 public:
  /// @param path as the user calls it; below the chroot
  /// @param contract whether the number of permits is recorded at the path
  permit_line(std::shared_ptr<client_core> core, std::string path, std::uint32_t permits, const cohort_options& options,
              bool contract = true);

  // Without the monitor:
  void open();
  /// Waits: suspends the fiber or blocks the thread. @returns the guard; an empty one if there were too few permits.
  guard acquire(std::uint32_t count, duration timeout, std::stop_token stop);
  /// The same without waiting.
  std::shared_ptr<pending<guard>> begin_guard(std::uint32_t count, duration timeout, std::stop_token stop);
  /// Changes the number of permits for all; as `acquire`, it waits.
  void resize(std::uint32_t permits, duration timeout);
  std::uint32_t permits() const;

  /// What one call asks for, and gets.
  struct wish {
    std::uint32_t count = 0;
    std::uint64_t holder = 0;  ///< of the guard
    grant what{};
  };

  // With the monitor: the same without waiting.
  std::shared_ptr<waiter> enter(std::uint64_t fiber, time_point until, const std::shared_ptr<wish>& what);
  /// @returns whether a call for `count` needs to know the number of permits at the ensemble first.
  bool must_learn(std::uint32_t count);
  request question() const;
  /// @param answer to that
  void learn(const reply& answer);

 private:
  enum class remote : std::uint8_t { unknown, asked, none, waiting };
  enum class passing : std::uint8_t { done, not_yet, impossible };
  static const wording of_guards;

  bool is_hopeless(std::uint64_t fiber) override;
  void begin(const std::shared_ptr<waiter>& me) override;
  void withdraw(const std::shared_ptr<waiter>& me) override;
  void end(hold& mine, time_point now) override;
  void on_overdue(hold& which) override { static_cast<permit&>(*which.on).leave(); }
  void let_go() override;
  kept_by what_keeps() override { return has_too_many() ? holders_keep() : kept_by::others; }

  void on_connected() override;
  void on_disconnected() override;
  void on_session_over() override;
  void on_failure(const failure& why) override;
  void on_reassessed(const std::string& node) override { queue_->on_reassessed(node); }

  void on_ready(permit& which) override;
  void on_over(permit& which, loss_reason why) override;
  void on_delayed() override { refuse_tries(); }
  void on_failed(const failure& why) override { on_failure(why); }

  void on_collected(const std::shared_ptr<permit>& what, bool waited) override;
  void on_turn_refused() override;
  void on_turn_lost() override;
  void on_queue_failed(const failure& why) override { on_failure(why); }
  void on_permits_changed() override;
  bool more_wait() const override { return line_.size() > 1; }

  wish& first_wish() const { return *static_cast<wish*>(line_.front()->wish.get()); }
  void advance(time_point now);
  bool queue_up();
  bool has_too_many() const noexcept;
  passing pass_on(time_point now);
  bool may_go_on(permit& what);
  bool is_outdated(const permit& what) const noexcept { return what.asked_to_release() || what.shrinks != shrinks_; }
  void let_in(const std::shared_ptr<permit>& with, granted_by source, time_point now);
  void rest(time_point now);
  time_point end_linger(time_point now);
  void drop_idle();
  void refuse_tries();
  void require_own_record(const std::string& data) const;

  void look_for_remote();
  void on_locks_listed(const reply& listed);

  const std::uint32_t most_turns_;
  const duration linger_;
  const std::shared_ptr<permit_queue> queue_;
  const std::shared_ptr<watched_children> locks_;
  remote remote_ = remote::unknown;
  std::vector<std::shared_ptr<permit>> idle_;  // given back
  std::uint64_t in_use_ = 0;                   // permits, of those that are held, or were lost
  std::uint32_t permits_ = 0;                  // as last heard of
  std::uint64_t shrinks_ = 0;
  std::uint64_t observing_ = 0;
  time_point until_{};  // idle permits are kept
  lazy_timer rest_{core_->monitor()};
};

}  // namespace latchkey::detail
