// SPDX-License-Identifier: Apache-2.0
#include "bridge/wait_point.hpp"

#include <atomic>
#include <utility>

#include "bridge/living.hpp"

#ifndef LATCHKEY_WITHOUT_FIBERS
#include <thread>

#include "bridge/blocked_signals.hpp"
#include "bridge/thread_anchor.hpp"
#endif

namespace latchkey::detail {

wait_point::~wait_point() = default;

bool has_ended(std::uint64_t fiber) { return !living::all().has(fiber); }

void wait_point::block() {
  std::unique_lock lock{mutex_};
  unblocked_.wait(lock, [this] { return notified_; });
}

bool wait_point::then(std::shared_ptr<continuation> what) {
  const std::lock_guard lock{mutex_};
  if (notified_) return false;
  next_ = std::move(what);
  return true;
}

#ifdef LATCHKEY_WITHOUT_FIBERS

void wait_point::reset() noexcept {
  const std::lock_guard lock{mutex_};
  notified_ = false;
}

void wait_point::wait() { block(); }

void wait_point::notify() noexcept {
  std::shared_ptr<continuation> next;
  {
    const std::lock_guard lock{mutex_};
    notified_ = true;
    next = std::move(next_);
  }
  next ? next->run() : unblocked_.notify_one();
}

const char* kind_of_caller() { return "thread"; }

std::uint64_t current_fiber() {
  static std::atomic<std::uint64_t> last{0};
  struct numbered {
    const std::uint64_t number = ++last;
    numbered() { living::all().add(number); }
    ~numbered() { living::all().remove(number); }
  };
  thread_local const numbered thread;
  return thread.number;
}

#else

void wait_point::reset() noexcept {
  const std::lock_guard lock{mutex_};
  notified_ = false;
  anchor_ = nullptr;
}

void wait_point::wait() {
  if (!has_scheduler()) return block();
  current_fiber();  // so that the end of this fiber is seen (HAZARDS F3)
  std::unique_lock lock{mutex_};
  while (!notified_) {
    anchor_ = anchor_of_this_thread();
    resumed_.wait(lock);
  }
  if (anchor_ && thread_is_ending()) anchor_->wait_until_empty();
}

void wait_point::notify() noexcept {
  std::shared_ptr<thread_anchor> anchor;
  std::shared_ptr<continuation> next;
  {
    const std::lock_guard lock{mutex_};
    notified_ = true;
    next = std::move(next_);
    anchor = anchor_;
    if (anchor) anchor->enter();
  }
  if (next) return next->run();
  if (!anchor) return unblocked_.notify_one();  // no fiber waits
  if (scheduler_listens()) {
    resumed_.notify_one();
  } else {  // it would use that of this thread (HAZARDS F14)
    const blocked_signals inherited;
    std::thread{[this] { resumed_.notify_one(); }}.join();
  }
  anchor->leave();
}

#endif

}  // namespace latchkey::detail
