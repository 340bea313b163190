// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A call of a lock line that waits without a thread.

#include <cstdint>
#include <memory>
#include <utility>

#include <latchkey/guard.hpp>

#include "recipes/line/lock_holders.hpp"
#include "recipes/line/lock_line.hpp"
#include "session/waiting_call.hpp"

namespace latchkey::detail {

/// It is a waiter as any other, behind those that have come before. The lock belongs to none but itself until its
/// result is taken.
class line_call : public waiting_call<guard> {
 public:
  line_call(std::shared_ptr<lock_line> line, duration timeout)
      : waiting_call{line->core()}, timeout_{timeout}, line_{std::move(line)} {}

 protected:
  /// `enter` says of which line.
  line_call(std::shared_ptr<client_core> core, duration timeout) : waiting_call{std::move(core)}, timeout_{timeout} {}

  std::shared_ptr<wait_point> first() override { return begin(timeout_); }
  void stop() override {
    if (!me_) return;
    me_->ends_by_itself = false;
    line_->cancel(me_);
  }
  guard finish() override { return me_ && outcome_of(*me_) ? line_->guard_of(holder_) : guard{}; }
  void undo() noexcept override {
    core().monitor().run_unless_forked([this] {
      if (me_ && me_->what == waiter::outcome::granted) line_->leave(holder_);
    });
  }

  /// With the monitor. @returns the waiter of this call.
  virtual std::shared_ptr<waiter> enter(std::uint64_t holder, time_point until) { return line_->enter(holder, until); }
  /// @returns where it waits for the lock.
  std::shared_ptr<wait_point> begin(duration timeout) {
    auto& monitor = core().monitor();
    monitor.run([&] { me_ = enter(holder_, end_of_call(timeout, monitor.now())); });
    return point_of(me_);
  }

  void enters(std::shared_ptr<lock_line> line) noexcept { line_ = std::move(line); }
  const waiter* me() const noexcept { return me_.get(); }
  duration timeout() const noexcept { return timeout_; }

 private:
  const duration timeout_;
  const std::uint64_t holder_ = new_holder();
  std::shared_ptr<lock_line> line_;
  std::shared_ptr<waiter> me_;
};

/// Begins a call of `line`. @throws as the blocking one
inline std::shared_ptr<pending<guard>> begin_guard(lock_line& line, duration timeout, std::stop_token stop) {
  return begin_call<line_call>(std::move(stop), line.shared_from_this(), timeout);
}

}  // namespace latchkey::detail
