// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a `grant` refers to.

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/grant.hpp>

#include "queue/grant_phase.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// One period of ownership: of one caller, on one node. Read from anywhere; changed with the monitor held.
class grant_state : public std::enable_shared_from_this<grant_state> {
 public:
  /// @param path of the lock, below the chroot
  /// @param counts of the locks of its group
  /// @param node that the grant rests on
  grant_state(std::shared_ptr<client_core> core, std::string path, lock_counts& counts, std::string node,
              fencing_token fence, time_point now);

  /// Begins another period, of another turn on the same lock. @pre nothing else refers to this object
  void begin_again(const std::string& node, fencing_token fence, time_point now);

  /// Its period has just begun, on these nodes, too.
  void rest_on(std::vector<std::string> others) { other_nodes_ = std::move(others); }

  grant as_grant() { return grant{shared_from_this()}; }
  /// @returns what it refers to; null for one that was never held.
  static const std::shared_ptr<grant_state>& of(const grant& what) noexcept { return what.state_; }

  client_core& core() const noexcept { return *core_; }
  const std::shared_ptr<client_core>& shared_core() const noexcept { return core_; }
  const std::string& path() const noexcept { return path_; }
  /// @returns the absolute path of the node that it rests on.
  const std::string& node() const noexcept { return node_; }
  /// @returns those of the others that it rests on.
  const std::vector<std::string>& other_nodes() const noexcept { return other_nodes_; }

  bool held() const noexcept { return is_held(state_) && !forked() && lease_->alive(core_->monitor().now()); }
  /// @returns whether it is over: as `!held()`, but not while a transaction that releases it is under way.
  bool ended() const noexcept { return ended(core_->monitor().now()); }
  bool ended(time_point now) const noexcept { return is_over(state_) || forked() || !lease_->alive(now); }
  fencing_token fence() const noexcept { return fence_; }
  time_point since() const noexcept { return since_; }
  time_point valid_until() const noexcept {
    return !is_held(state_) || forked() ? time_point{} : std::max(lease_->valid_until(), time_point{});
  }
  std::optional<loss_reason> loss() const noexcept;

  // Without the monitor:
  std::stop_token stop_token();
  std::stop_token stop_token(duration before);
  std::stop_token release_token();
  bool asked_to_release();
  /// The name of its node is about to be given to others. To be called before one looks whether it is held. Of this and
  /// `bound()`, which writes too, one comes first: either that sees the name given out, or this thread sees the end.
  void give_out() noexcept { given_out_.exchange(true); }
  bool wait_for_end(duration timeout);
  /// With the monitor. @returns what is notified at the end of the grant; null if it has ended.
  std::shared_ptr<wait_point> begin_to_wait();
  /// With the monitor. @returns whether the grant has ended.
  bool end_wait(const std::shared_ptr<wait_point>& waiter);
  bool forked() const noexcept { return core_->monitor().forked(); }

  // With the monitor:
  void suspect();
  void ask_to_release();
  void lose(loss_reason why);
  void release(time_point now);
  void release() { release(core_->monitor().now()); }
  void transaction_sent() noexcept { ++unanswered_; }
  void transaction_answered() noexcept { --unanswered_; }
  /// Once it has ended. @returns whether its node is referred to by others: its name was given out, or a
  /// transaction has not been answered.
  bool bound() noexcept {
    bool none = false;
    return !given_out_.compare_exchange_strong(none, false) || unanswered_ != 0;
  }

  /// A transaction that gives up the place is about to be sent. It is not held until that is known not to have happened.
  void begin_release() { apply(grant_event::release_sent); }
  void resume() { apply(grant_event::release_refused); }

 private:
  /// One token that stops before the loss.
  struct warning {
    duration before{};
    std::stop_source stop;
    warning_id id;
  };

  void watch_nodes();
  void request_stop(const std::stop_source& of);
  bool apply(grant_event event) noexcept;
  void say_lost(loss_reason why);
  void end(trace_span::outcome how, time_point now);

  const std::shared_ptr<client_core> core_;
  std::shared_ptr<lease> lease_;
  const std::string path_;
  lock_counts& counts_;
  std::string node_;
  std::vector<std::string> other_nodes_;
  fencing_token fence_;
  time_point since_;
  std::atomic<grant_phase> state_{grant_phase::held};  // stored with release after `why_`, for `loss()` on any thread
  std::atomic<loss_reason> why_{};
  std::optional<std::stop_source> stop_;
  std::vector<warning> warnings_;
  std::optional<std::stop_source> release_;
  std::atomic<bool> given_out_{false};
  std::uint32_t unanswered_ = 0;
  std::atomic<bool> asked_{false};
  std::atomic<bool> watched_{false};  // its node, for being asked
  std::vector<std::shared_ptr<wait_point>> waiters_;
};

}  // namespace latchkey::detail
