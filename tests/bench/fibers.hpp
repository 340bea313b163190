// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fibers and threads that run a workload, and the moment at which they stop.

#include <atomic>
#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

namespace bench {

/// Stacks for fibers, in one mapping of their own: malloc knows nothing of them, and a stack that was never used deeply
/// takes its first pages only. Not thread-safe.
class stack_arena {
 public:
  explicit stack_arena(std::size_t stacks);

  // What Boost.Fiber wants of a StackAllocator.
  boost::context::stack_context allocate();
  void deallocate(boost::context::stack_context& stack) noexcept;

 private:
  struct mapping;
  std::shared_ptr<mapping> mapping_;
};

/// Runs the body so many times at once, each in a fiber of this thread, with its number; returns when all have ended.
/// @throws what one of them has thrown
void in_fibers(std::size_t count, const std::function<void(std::size_t)>& body);

/// As `in_fibers`, with threads.
void in_threads(std::size_t count, const std::function<void(std::size_t)>& body);

/// Turns true after so many seconds.
class time_is_up {
 public:
  explicit time_is_up(double seconds);
  explicit operator bool() const noexcept { return up_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> up_{false};
  std::jthread thread_;
};

}  // namespace bench
