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

enum class scheduler : std::uint8_t { unknown, alive, gone };

// The state of one thread. Without destructors, so that it can be read when its thread-locals are gone. Functions that
// use it are not inlined: its address must not be kept across a suspension, after which the thread may be another.
constinit thread_local scheduler scheduler_here = scheduler::unknown;
constinit thread_local thread_anchor* anchor_here = nullptr;
constinit thread_local std::uint64_t number_here = 0;  // of the fiber that the thread began with, once it is gone

std::atomic<std::uint64_t> last_number{0};

/// Never destroyed: fibers may end later than static objects do.
boost::fibers::fiber_specific_ptr<char>& identity() {
  static auto& instance = *new boost::fibers::fiber_specific_ptr<char>{
      [](char* number) { living::all().remove(reinterpret_cast<std::uintptr_t>(number)); }};
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
  // Boost's own thread-local is made first, so that it is destroyed after ours.
  anchored_thread() {
    boost::fibers::context::active();
    [[maybe_unused]] static const int handlers = ::pthread_atfork(&before_fork, &after_fork, &after_fork_in_child);
    scheduler_here = scheduler::alive;
    anchor_here = anchor_.get();
  }
  ~anchored_thread() {
    number_here = reinterpret_cast<std::uintptr_t>(identity().get());
    living::all().remove(number_here);
    scheduler_here = scheduler::gone;
    anchor_->wait_until_empty();
    anchor_here = nullptr;
  }
  anchored_thread(const anchored_thread&) = delete;
  anchored_thread& operator=(const anchored_thread&) = delete;

  const std::shared_ptr<thread_anchor>& anchor() const noexcept { return anchor_; }

 private:
  std::shared_ptr<thread_anchor> anchor_ = std::make_shared<thread_anchor>();
};

/// Made before the program's own thread-locals of the main thread, so destroyed after them: a static object that is
/// the first to call latchkey on that thread learns that its scheduler is gone, if there was one.
struct last_of_main {
  ~last_of_main() {
    if (scheduler_here == scheduler::unknown) scheduler_here = scheduler::gone;
  }
};
[[maybe_unused]] const bool main_is_watched = [] {
  thread_local const last_of_main last;
  return true;
}();

}  // namespace

[[gnu::noinline]] std::shared_ptr<thread_anchor> anchor_of_this_thread() {
  thread_local const anchored_thread thread;
  return thread.anchor();
}

[[gnu::noinline]] bool has_scheduler() {
  if (scheduler_here == scheduler::unknown) anchor_of_this_thread();
  return scheduler_here == scheduler::alive;
}

[[gnu::noinline]] bool scheduler_listens() {
  return has_scheduler() && !boost::fibers::context::active()->is_context(boost::fibers::type::dispatcher_context);
}

[[gnu::noinline]] const char* kind_of_caller() {
  const bool is_fiber =
      has_scheduler() && !boost::fibers::context::active()->is_context(boost::fibers::type::main_context);
  return is_fiber ? "fiber" : "thread";
}

[[gnu::noinline]] bool begin_without_scheduler() noexcept {
  if (scheduler_here != scheduler::unknown) return false;
  scheduler_here = scheduler::gone;
  return true;
}

[[gnu::noinline]] void end_without_scheduler() noexcept { scheduler_here = scheduler::unknown; }

/// The pointer itself is the number: what it pointed to would not be freed for the main fiber of a thread.
[[gnu::noinline]] std::uint64_t current_fiber() {
  if (!has_scheduler()) {
    if (number_here == 0) number_here = ++last_number;
    return number_here;
  }
  if (const auto* const known = identity().get()) return reinterpret_cast<std::uintptr_t>(known);
  const std::uintptr_t number = ++last_number;
  living::all().add(number);
  identity().reset(reinterpret_cast<char*>(number));
  return number;
}

}  // namespace latchkey::detail
