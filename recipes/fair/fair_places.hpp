// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The callers of one fair lock object, each with an entry of its own.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <latchkey/ticket.hpp>

#include "queue/neighbours.hpp"
#include "queue/queue_entry.hpp"
#include "queue/wait_list.hpp"
#include "recipes/line/anticipation.hpp"
#include "recipes/line/lock_line.hpp"
#include "recipes/rules.hpp"
#include "session/waiting_call.hpp"

namespace latchkey::detail {

class fair_place;

/// A line each of whose calls has a place of its own, an entry, so that the order is that of the queue. Callers
/// next to one another are woken without a request (`neighbours`). After a loss the lock stays with its caller until
/// that unlocks, even if another place of this object has been granted meanwhile.
class fair_places final : public lock_line {
 public:
  /// @param path as the user calls it; below the chroot
  /// @param group of locks whose numbers it counts for
  /// @param max_hold how long one caller may hold; zero: for ever
  fair_places(std::shared_ptr<client_core> core, std::string path, const std::string& group = {},
              duration max_hold = {}, hand_off how = hand_off::ensemble);
  /// Waits for a place, not for the lock. Without the monitor. @returns nothing if none was taken in time
  std::shared_ptr<fair_place> enqueue(duration timeout, std::stop_token stop);
  /// The same without waiting.
  std::shared_ptr<pending<ticket>> begin_to_queue(std::stop_token stop);

 private:
  friend class fair_place;

  bool is_hopeless(std::uint64_t fiber) override;
  void begin(const std::shared_ptr<waiter>& me) override;
  void withdraw(const std::shared_ptr<waiter>& me) override;
  void end(hold& mine, time_point now) override;
  void on_overdue(hold& which) override;
  void let_go() override;
  kept_by what_keeps() override;

  std::shared_ptr<fair_places> self() { return std::static_pointer_cast<fair_places>(shared_from_this()); }
  void add(const std::shared_ptr<fair_place>& place);
  void remove(const std::shared_ptr<fair_place>& place);
  void turn_of(const std::shared_ptr<fair_place>& place);

  const std::shared_ptr<const std::string> absolute_ = std::make_shared<const std::string>(core_->absolute(path_));
  const hand_off how_;
  const std::shared_ptr<neighbours> neighbours_ = std::make_shared<neighbours>();
  std::vector<std::shared_ptr<fair_place>> places_;  // in no order
  anticipation anticipation_;
  pace pace_;
  std::unique_ptr<kept_node> former_;
  std::shared_ptr<fair_place> next_;  // its turn has come, but the caller that lost the lock has not unlocked it
};

/// A place in the line, and the call that waits for it.
class fair_place final : public place_listener, public std::enable_shared_from_this<fair_place> {
 public:
  fair_place(std::shared_ptr<fair_places> line, patience how) : line_{std::move(line)}, how_{how} {}

  // Of a `latchkey::ticket`. Without the monitor; they wait.
  std::optional<std::size_t> ahead(duration timeout, std::stop_token stop);
  bool wait(duration timeout, std::stop_token stop);
  void wait();
  /// @pre a wait has just taken the lock. @returns its guard.
  guard guard_of_lock() { return line_->guard_of_holder(); }
  std::shared_ptr<pending<guard>> begin_guard(duration timeout, std::stop_token stop);
  /// For a call without a limit that was refused.
  [[noreturn]] void raise_refused() const;
  void cancel() noexcept;
  bool lost() const;
  void requeue();
  bool spent() const noexcept { return spent_; }

  // With the monitor: the same without waiting.
  std::shared_ptr<waiter> begin_to_queue(std::uint64_t fiber, time_point until = never);
  std::shared_ptr<waiter> begin_to_queue_again(std::uint64_t fiber);
  std::shared_ptr<waiter> begin_to_wait(std::uint64_t fiber, time_point until);

 private:
  friend class fair_places;

  void on_queued() override;
  void on_granted() override;
  void on_delayed() override;
  void on_refused() override;
  void on_suspect() override;
  void on_lost(loss_reason why) override;
  void on_failed(const failure& why) override;
  void on_asked_to_release() override;
  pace* queue_pace() noexcept override { return &line_->pace_; }

  void await(const std::shared_ptr<waiter>& caller);
  void start();
  void refuse_try();
  void give_up(bool closed = false);
  std::unique_ptr<kept_node> leave_for_another(bool closed);
  std::shared_ptr<queue_entry> step_out();
  void conclude(waiter::outcome what);
  void fail(const failure& why);
  hold* holding() const noexcept;
  void require_place() const;
  void require_no_call() const;
  failure place_lost() const;

  static constexpr auto none = static_cast<std::size_t>(-1);

  const std::shared_ptr<fair_places> line_;
  const patience how_;
  std::shared_ptr<queue_entry> entry_;  // empty: given up, lost or failed
  std::shared_ptr<waiter> caller_;      // the call that waits
  std::size_t index_ = none;            // in `fair_places::places_`
  bool for_place_ = false;              // the call waits for the place, not for the lock
  bool asked_to_release_ = false;
  std::unique_ptr<failure> failed_;
  std::atomic<bool> spent_{false};
};

}  // namespace latchkey::detail
