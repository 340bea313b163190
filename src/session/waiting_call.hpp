// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The calls that wait without a thread.

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <latchkey/pending.hpp>

#include "base/process.hpp"
#include "bridge/wait_point.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// A call in steps, each of which ends at a wait point. What a blocking call does between its waits, this does on the
/// threads that notify. Without the monitor, except where stated.
template <class Outcome>
class waiting_call : public pending<Outcome>,
                     public wait_point::continuation,
                     public std::enable_shared_from_this<waiting_call<Outcome>> {
 public:
  /// Begins it. Once, before all else. @throws what the first step does
  void start(std::stop_token stop) {
    if (stop.stop_requested() && !forked()) return end();
    go_on(first());
    if (stop.stop_possible()) on_stop_.emplace(std::move(stop), canceller{*this});
  }

  bool then(pending_call::continuation& what) final {
    const std::lock_guard lock{mutex_};
    if (over_) return false;
    next_ = &what;
    return true;
  }

  void cancel() noexcept final {
    stopped_ = true;
    core_->monitor().run_unless_forked([this] { stop(); });
  }

  void abandon() noexcept final {
    if (forked()) return keep_for_ever(this->shared_from_this());  // it may be the last that refers to a lock object
    bool over = false;
    {
      const std::lock_guard lock{mutex_};
      if (taken_ || abandoned_.exchange(true)) return;
      next_ = nullptr;
      over = over_;
    }
    await_continuation();
    on_stop_.reset();
    over ? undo() : cancel();
  }

  bool abandoned() const noexcept final { return abandoned_; }

  Outcome result() final {
    await_continuation();
    on_stop_.reset();
    {
      const std::lock_guard lock{mutex_};
      taken_ = true;
    }
    if (failed_) std::rethrow_exception(failed_);
    return finish();
  }

 protected:
  explicit waiting_call(std::shared_ptr<client_core> core) : core_{std::move(core)} {}

  /// @returns where it waits; null if the call is over.
  virtual std::shared_ptr<wait_point> first() = 0;
  /// What it has waited for has come. @returns as `first`
  virtual std::shared_ptr<wait_point> next() { return nullptr; }
  /// With the monitor: ends the present wait, if there is one.
  virtual void stop() = 0;
  /// @returns the outcome; of a call that has not begun that of one that was stopped.
  virtual Outcome finish() = 0;
  /// In place of `finish`: gives back what the call was granted.
  virtual void undo() noexcept {}

  client_core& core() const noexcept { return *core_; }
  /// @returns whether a stop request has come.
  bool stopped() const noexcept { return stopped_; }

 private:
  struct canceller {
    waiting_call& self;
    void operator()() const noexcept { self.cancel(); }
  };

  bool forked() const noexcept { return core_->monitor().forked(); }

  void run() noexcept final { go_on(further()); }

  std::shared_ptr<wait_point> further() noexcept {
    try {
      return next();
    } catch (...) {
      failed_ = std::current_exception();
      return nullptr;
    }
  }

  void go_on(std::shared_ptr<wait_point> at) noexcept {
    while (at) {
      if (stopped_) cancel();  // it came between two steps
      if (at->then(this->shared_from_this())) return;
      at = further();
    }
    end();
  }

  void end() noexcept {
    pending_call::continuation* next = nullptr;
    bool left = false;
    {
      const std::lock_guard lock{mutex_};
      over_ = true;
      left = abandoned_;
      next = std::exchange(next_, nullptr);
      if (next) {
        runs_on_ = std::this_thread::get_id();
        running_ = true;
      }
    }
    if (left) return undo();
    if (!next) return;
    next->run();
    running_ = false;
    running_.notify_all();
  }

  /// One that runs the coroutine at once is left to itself.
  void await_continuation() const noexcept {
    if (running_ && runs_on_ != std::this_thread::get_id()) running_.wait(true);
  }

  const std::shared_ptr<client_core> core_;
  std::mutex mutex_;
  pending_call::continuation* next_ = nullptr;
  std::thread::id runs_on_{};  // written before `running_`
  std::atomic<bool> running_ = false;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> abandoned_ = false;
  bool over_ = false;
  bool taken_ = false;
  std::exception_ptr failed_;
  std::optional<std::stop_callback<canceller>> on_stop_;
};

/// @returns a call that has begun. @throws what its first step does
template <class Call, class... Args>
std::shared_ptr<Call> begin_call(std::stop_token stop, Args&&... args) {
  auto call = std::make_shared<Call>(std::forward<Args>(args)...);
  call->start(std::move(stop));
  return call;
}

/// Suspends the fiber, or blocks the thread, until the call is over. @returns its outcome
template <class Outcome>
Outcome await(const std::shared_ptr<pending<Outcome>>& call) {
  struct waker final : pending_call::continuation {
    const std::shared_ptr<wait_point> point = std::make_shared<wait_point>();
    void run() noexcept override { point->notify(); }
  } over;
  if (call->then(over)) over.point->wait();
  return call->result();
}

/// A call that is over from the beginning.
template <class Outcome>
class settled_call final : public pending<Outcome> {
 public:
  explicit settled_call(Outcome what) : outcome_{std::move(what)} {}

  bool then(pending_call::continuation&) override { return false; }
  void cancel() noexcept override {}
  void abandon() noexcept override {}
  bool abandoned() const noexcept override { return false; }
  Outcome result() override { return std::move(outcome_); }

 private:
  Outcome outcome_;
};

}  // namespace latchkey::detail
