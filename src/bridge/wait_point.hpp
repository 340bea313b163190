// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The bridge from the client's threads to fibers and coroutines: where a call waits for its outcome.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include <latchkey/export.hpp>

#ifndef LATCHKEY_WITHOUT_FIBERS
#include <boost/fiber/condition_variable.hpp>
#endif

namespace latchkey::detail {

class thread_anchor;

/// Suspends a fiber, or blocks a thread that runs none, until it is notified; once. Blocks a thread whose fiber
/// scheduler is gone, as in the destructors of static objects.
/// The notifier holds a reference: the waiter may be gone before `notify()` has returned.
/// No timed wait: in Boost 1.74 one that is notified from another thread is a data race. Deadlines notify, too.
class wait_point {
 public:
  wait_point() = default;
  /// Not inline: with asserts it calls functions of Boost.Fiber, which other libraries do not link.
  LATCHKEY_EXPORT ~wait_point();
  wait_point(const wait_point&) = delete;
  wait_point& operator=(const wait_point&) = delete;

  /// Returns at once when it has been notified. Call it once, from one fiber, with no std::mutex held.
  LATCHKEY_EXPORT void wait();

  /// What a call that has no thread goes on with.
  class continuation {
   public:
    virtual ~continuation() = default;
    /// On the thread that notifies, with no lock held.
    virtual void run() noexcept = 0;
  };
  /// In place of `wait()`: `what` runs once it has been notified. @returns false if it has been: then `what` does not run.
  bool then(std::shared_ptr<continuation> what);

  /// Makes it as new. @pre no other reference is left: none waits or notifies
  void reset() noexcept;

  /// From any thread, with no lock held that the waiter may take.
  LATCHKEY_EXPORT void notify() noexcept;

 private:
  void block();

  std::mutex mutex_;
  bool notified_ = false;
  std::condition_variable unblocked_;
  std::shared_ptr<continuation> next_;
#ifndef LATCHKEY_WITHOUT_FIBERS
  boost::fibers::condition_variable_any resumed_;
  std::shared_ptr<thread_anchor> anchor_;  // of the thread whose scheduler will be woken
#endif
};

/// @returns what tells the calling fiber from all others of this process, or the calling thread where no fiber runs:
/// never used again, and the same after the fiber has moved to another thread.
std::uint64_t current_fiber();

/// @returns "fiber" or "thread": what the caller is, for a text.
const char* kind_of_caller();

/// @returns whether that fiber, or thread, has ended.
bool has_ended(std::uint64_t fiber);

}  // namespace latchkey::detail
