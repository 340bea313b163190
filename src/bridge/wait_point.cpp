// SPDX-License-Identifier: Apache-2.0
#include "bridge/wait_point.hpp"

#include <atomic>
#include <thread>

#ifndef LATCHKEY_WITHOUT_FIBERS
#include <boost/fiber/context.hpp>
#include <boost/fiber/fss.hpp>
#endif

namespace latchkey::detail {

void wait_point::reset() noexcept {
  const std::lock_guard lock{mutex_};
  notified_ = false;
#ifndef LATCHKEY_WITHOUT_FIBERS
  anchor_ = nullptr;
#endif
}

#ifdef LATCHKEY_WITHOUT_FIBERS

void wait_point::wait() {
  std::unique_lock lock{mutex_};
  condition_.wait(lock, [this] { return notified_; });
}

void wait_point::notify() noexcept {
  {
    const std::lock_guard lock{mutex_};
    notified_ = true;
  }
  condition_.notify_one();
}

#else

/// Keeps the scheduler of a thread alive while somebody is inside of it to wake a fiber: a thread that is woken and
/// ends at once would otherwise destroy it under the notifier (seen with Boost 1.74 and 1.81).
class thread_anchor {
 public:
  void enter() noexcept { notifiers_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept { notifiers_.fetch_sub(1, std::memory_order_release); }
  void wait_until_nobody_is_inside() const noexcept {
    while (notifiers_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }

 private:
  std::atomic<int> notifiers_{0};
};

namespace {

class anchored_thread {
 public:
  // Boost's own thread-local is made first, so that it is destroyed after ours.
  anchored_thread() { boost::fibers::context::active(); }
  ~anchored_thread() { anchor_->wait_until_nobody_is_inside(); }
  anchored_thread(const anchored_thread&) = delete;
  anchored_thread& operator=(const anchored_thread&) = delete;

  const std::shared_ptr<thread_anchor>& anchor() const noexcept { return anchor_; }

 private:
  std::shared_ptr<thread_anchor> anchor_ = std::make_shared<thread_anchor>();
};

/// Not inlined: the address of a thread-local must not be kept across a suspension, after which the thread may be
/// another.
[[gnu::noinline]] std::shared_ptr<thread_anchor> anchor_of_this_thread() {
  thread_local const anchored_thread thread;
  return thread.anchor();
}

}  // namespace

void wait_point::wait() {
  std::unique_lock lock{mutex_};
  while (!notified_) {
    anchor_ = anchor_of_this_thread();
    condition_.wait(lock);
  }
}

void wait_point::notify() noexcept {
  std::shared_ptr<thread_anchor> anchor;
  {
    const std::lock_guard lock{mutex_};
    notified_ = true;
    anchor = anchor_;
    if (anchor) anchor->enter();
  }
  if (!anchor) return;  // nobody waits yet
  condition_.notify_one();
  anchor->leave();
}

#endif

std::uint64_t current_fiber() {
  static std::atomic<std::uint64_t> last{0};
#ifdef LATCHKEY_WITHOUT_FIBERS
  thread_local const std::uint64_t identity = ++last;
  return identity;
#else
  // The pointer itself is the number: what it pointed to would not be freed for the main fiber of a thread. Never
  // destroyed: fibers may end later than static objects do.
  static auto& identity = *new boost::fibers::fiber_specific_ptr<char>{[](char*) {}};
  if (const auto* const known = identity.get()) return reinterpret_cast<std::uintptr_t>(known);
  const std::uintptr_t number = ++last;
  identity.reset(reinterpret_cast<char*>(number));
  return number;
#endif
}

}  // namespace latchkey::detail
