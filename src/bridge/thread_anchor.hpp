// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What is known of the fiber scheduler of a thread.

#include <atomic>
#include <memory>

namespace latchkey::detail {

/// Keeps the scheduler of a thread alive while another thread is inside of it to wake a fiber: a thread that is woken
/// and ends at once would otherwise destroy it under the notifier (HAZARDS F3). A fork waits likewise: a lock of the
/// scheduler that is held at that moment would be held for ever in the child (HAZARDS F13).
class thread_anchor {
 public:
  void enter() noexcept;
  void leave() noexcept { inside_.fetch_sub(1, std::memory_order_release); }
  void wait_until_empty() const noexcept;

  // On the thread of the scheduler, before and after a fork:

  /// Lets no thread in, and waits for those inside.
  void shut() noexcept;
  void open() noexcept { shut_ = false; }
  /// In the child, where no other thread is left.
  void open_in_child() noexcept {
    inside_ = 0;
    shut_ = false;
  }

 private:
  // `enter` writes the first and reads the second, `shut` the reverse: in one order of both (seq_cst), so that one sees
  // the other. What is done inside comes before the end of a wait (release in `leave`).
  std::atomic<int> inside_{0};
  std::atomic<bool> shut_{false};
};

/// @returns whether this thread has a fiber scheduler, which it gets now if it had none; false once that is gone.
bool has_scheduler();

/// @returns whether a fiber of this thread that is made ready now is resumed: not in a signal handler that interrupts the
/// scheduler while it sleeps.
bool scheduler_listens();

/// @returns that of this thread, or one of a single wait if `thread_is_ending()`. @pre has_scheduler()
std::shared_ptr<thread_anchor> anchor_of_this_thread();

/// @returns whether the anchor of this thread is gone. Its scheduler may still be there, and end with its last fiber.
bool thread_is_ending() noexcept;

}  // namespace latchkey::detail
