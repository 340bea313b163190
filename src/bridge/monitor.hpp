// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The monitor of one client: one lock for its whole protocol, its clock and its timers.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <latchkey/export.hpp>

#include "base/process.hpp"
#include "base/timer_queue.hpp"
#include "bridge/wait_point.hpp"

namespace latchkey::detail {

/// What `session`, `queue` and `recipes` declare is used with the monitor held, unless its comment says "Without the
/// monitor", "From anywhere" or "From any thread". Replies, events, timers and calls of users take turns, so the protocol
/// is a plain state machine. Nothing blocks while the monitor is held; wake-ups are put off until it has been released
/// (a waiter that is notified under a lock only runs into it).
///
/// Time stands still within a call: it is read once, so that nothing is early for one line and late for the next on a
/// machine that stalls between them.
///
/// In a forked child the threads that it belongs to do not exist, and one of them may have held it at the moment of the
/// fork: there it is never taken.
class monitor {
 public:
  /// By which a timer is late when the process was stopped, or its machine, and not just busy.
  static constexpr duration long_stop = std::chrono::seconds{1};

  explicit monitor(std::function<time_point()> clock) : clock_{std::move(clock)} {}
  monitor(const monitor&) = delete;
  monitor& operator=(const monitor&) = delete;

  /// Runs `what` with the monitor held, then the wake-ups. From any thread.
  /// @throws error closed in a forked child
  /// @throws std::system_error resource_deadlock_would_occur from inside the monitor
  template <class Callable>
  auto run(Callable&& what) {
    if (forked()) refuse_child();
    if (holder_.load(std::memory_order_relaxed) == std::this_thread::get_id()) refuse_call_from_inside();
    wake_list woken;
    const notifier after{woken};
    const std::lock_guard lock{mutex_};
    const call_time one{*this};
    const collector before_unlock{*this, woken};
    return std::forward<Callable>(what)();
  }

  /// As `run`, for what must not throw: in a forked child it does nothing, and returns an empty value.
  template <class Callable>
  auto run_unless_forked(Callable&& what) {
    if (forked()) return std::invoke_result_t<Callable>();
    return run(std::forward<Callable>(what));
  }

  /// @returns whether this process is a child of the one that made the monitor. From anywhere.
  bool forked() const noexcept { return home_.left(); }

  /// With the monitor held: the time of this call. Otherwise the clock's.
  time_point now() const {
    if (holder_.load(std::memory_order_relaxed) != std::this_thread::get_id()) return clock_();
    if (!time_of_call_) time_of_call_ = clock_();
    return *time_of_call_;
  }

  // With the monitor held:

  timer_id at(time_point time, timer_queue::callback what) {
    time = std::max(time, now());
    const auto id = timers_.add(time, std::move(what));
    if (id && on_earlier_ && *timers_.next() == time) on_earlier_(time);
    return id;
  }
  timer_id in(duration time, timer_queue::callback what) { return at(deadline_after(now(), time), std::move(what)); }
  void cancel(timer_id& id) { timers_.cancel(id); }

  /// @returns since when this process has run without a stop of `long_stop` (SIGSTOP, a suspended machine), as far as
  /// timers that were late show.
  time_point running_since() const { return is_late(timers_.next()) ? now() : running_since_; }

  /// @returns how long, at least, the last such stop has been.
  duration stopped_for() const { return is_late(timers_.next()) ? now() - *timers_.next() : stopped_for_; }

  /// Notifies `waiter` once the monitor has been released.
  void wake(std::shared_ptr<wait_point> waiter) { to_wake_.add(std::move(waiter)); }

  // For the timer thread, without the monitor:

  /// `what` is called, with the monitor held, with the time of each timer that becomes the first.
  void when_earlier(std::function<void(time_point)> what) {
    run([&] { on_earlier_ = std::move(what); });
  }

  /// Runs what is due. @returns the time of the next timer.
  LATCHKEY_EXPORT std::optional<time_point> run_due();

  /// @returns the time of the next timer.
  std::optional<time_point> next_timer();

 private:
  struct call_time {
    monitor& self;
    explicit call_time(monitor& own) : self{own} {
      self.holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ~call_time() {
      self.time_of_call_.reset();
      self.holder_.store({}, std::memory_order_relaxed);
    }
    call_time(const call_time&) = delete;
    call_time& operator=(const call_time&) = delete;
  };
  /// Mostly of one or none: only more of them need memory.
  class wake_list {
   public:
    bool empty() const noexcept { return !first_; }
    void add(std::shared_ptr<wait_point> waiter) {
      if (!first_) {
        first_ = std::move(waiter);
      } else {
        more_.push_back(std::move(waiter));
      }
    }
    /// @pre it is empty
    void take(wake_list& from) noexcept {
      first_ = std::move(from.first_);
      if (!from.more_.empty()) more_.swap(from.more_);
    }
    void notify_all() noexcept {
      if (first_) first_->notify();
      for (const auto& each : more_) each->notify();
    }

   private:
    std::shared_ptr<wait_point> first_;
    std::vector<std::shared_ptr<wait_point>> more_;
  };
  struct notifier {
    wake_list& woken;
    ~notifier() {
      if (!woken.empty()) woken.notify_all();
    }
  };
  struct collector {
    monitor& self;
    wake_list& woken;
    ~collector() {
      if (!self.to_wake_.empty()) woken.take(self.to_wake_);
    }
  };

  /// @returns whether it was due in a stop that has not been noticed yet.
  bool is_late(std::optional<time_point> timer) const {
    return timer && *timer >= running_since_ && now() - *timer >= long_stop;
  }

  [[noreturn]] LATCHKEY_EXPORT static void refuse_child();
  [[noreturn]] LATCHKEY_EXPORT static void refuse_call_from_inside();

  const home home_;
  std::mutex mutex_;
  std::function<time_point()> clock_;
  std::atomic<std::thread::id> holder_{};           // a thread compares it with itself only: no order is needed
  mutable std::optional<time_point> time_of_call_;  // the holder's
  std::function<void(time_point)> on_earlier_;
  timer_queue timers_;
  time_point running_since_ = time_point::min();
  duration stopped_for_{};
  wake_list to_wake_;
};

}  // namespace latchkey::detail
