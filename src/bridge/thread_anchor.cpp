// SPDX-License-Identifier: Apache-2.0
#include "bridge/thread_anchor.hpp"

#include <pthread.h>

#include <cstdint>
#include <thread>

#include <boost/fiber/context.hpp>
#include <boost/fiber/fss.hpp>

#include "bridge/living.hpp"
#include "bridge/wait_point.hpp"

namespace latchkey::detail {

void thread_anchor::enter() noexcept {
  for (;;) {
    inside_.fetch_add(1);
    if (!shut_.load()) return;
    leave();
    while (shut_.load()) std::this_thread::yield();
  }
}

void thread_anchor::wait_until_empty() const noexcept {
  while (inside_.load() != 0) std::this_thread::yield();
}

void thread_anchor::shut() noexcept {
  shut_.store(true);
  wait_until_empty();
}

namespace {

// Of one thread. Without a destructor, so that they can be read when its thread-locals are gone. Functions that use
// them are not inlined: their address must not be kept across a suspension, after which the thread may be another.
constinit thread_local thread_anchor* anchor_here = nullptr;
constinit thread_local bool anchor_is_gone = false;
constinit thread_local std::uint64_t number_here = 0;  // of the fiber that the thread began with, if it has one

std::atomic<std::uint64_t> last_fiber{0};

/// A detached fiber may end when the anchor of its thread is gone, or just before the scheduler of a thread whose anchor
/// goes later: those who have woken it leave that first.
[[gnu::noinline]] void end_fiber(char* number) {
  living::all().remove(reinterpret_cast<std::uintptr_t>(number));
  if (anchor_here != nullptr) anchor_here->wait_until_empty();
}

/// Never destroyed: fibers may end later than static objects do.
boost::fibers::fiber_specific_ptr<char>& identity() {
  static auto& instance = *new boost::fibers::fiber_specific_ptr<char>{&end_fiber};
  return instance;
}

void before_fork() noexcept {
  if (anchor_here != nullptr) anchor_here->shut();
}
void after_fork() noexcept {
  if (anchor_here != nullptr) anchor_here->open();
}
void after_fork_in_child() noexcept {
  if (anchor_here != nullptr) anchor_here->open_in_child();
}

class anchored_thread {
 public:
  // Boost's own thread-local is made first, so that it is destroyed after ours, unless it is being destroyed now and
  // this is a call of a detached fiber: then it is destroyed before ours.
  anchored_thread() {
    boost::fibers::context::active();
    [[maybe_unused]] static const int handlers = ::pthread_atfork(&before_fork, &after_fork, &after_fork_in_child);
    anchor_here = anchor_.get();
  }
  ~anchored_thread() {
    living::all().remove(number_here);
    anchor_->wait_until_empty();
    anchor_here = nullptr;
    anchor_is_gone = true;
  }
  anchored_thread(const anchored_thread&) = delete;
  anchored_thread& operator=(const anchored_thread&) = delete;

  const std::shared_ptr<thread_anchor>& anchor() const noexcept { return anchor_; }

 private:
  std::shared_ptr<thread_anchor> anchor_ = std::make_shared<thread_anchor>();
};

}  // namespace

[[gnu::noinline]] std::shared_ptr<thread_anchor> anchor_of_this_thread() {
  if (anchor_is_gone) return std::make_shared<thread_anchor>();
  thread_local const anchored_thread thread;
  return thread.anchor();
}

[[gnu::noinline]] bool thread_is_ending() noexcept { return anchor_is_gone; }

/// Boost's thread-local says so itself: it has no active context once it is destroyed.
[[gnu::noinline]] bool has_scheduler() { return boost::fibers::context::active() != nullptr; }

[[gnu::noinline]] bool scheduler_listens() {
  return has_scheduler() && !boost::fibers::context::active()->is_context(boost::fibers::type::dispatcher_context);
}

[[gnu::noinline]] const char* kind_of_caller() {
  const bool is_fiber =
      has_scheduler() && !boost::fibers::context::active()->is_context(boost::fibers::type::main_context);
  return is_fiber ? "fiber" : "thread";
}

/// The pointer itself is the number: what it pointed to would not be freed for the main fiber of a thread.
[[gnu::noinline]] std::uint64_t current_fiber() {
  const auto* const active = boost::fibers::context::active();
  const bool is_main = active == nullptr || active->is_context(boost::fibers::type::main_context);
  if (active == nullptr || (is_main && anchor_is_gone)) {
    if (number_here == 0) number_here = ++last_fiber;
    return number_here;
  }
  anchor_of_this_thread();  // tells the end of the thread
  if (const auto* const known = identity().get()) return reinterpret_cast<std::uintptr_t>(known);
  const std::uintptr_t number = ++last_fiber;
  living::all().add(number);
  identity().reset(reinterpret_cast<char*>(number));
  if (is_main) number_here = number;
  return number;
}

}  // namespace latchkey::detail
