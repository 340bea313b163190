// SPDX-License-Identifier: Apache-2.0
#include "fibers.hpp"

#include <sys/mman.h>

#include <boost/fiber/fiber.hpp>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace bench {

namespace {

constexpr std::size_t stack_size = 64 * 1024;

/// The first exception of many bodies.
class first_failure {
 public:
  template <class Body>
  void guard(Body body) noexcept {
    try {
      body();
    } catch (...) {
      const std::lock_guard lock{mutex_};
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

struct stack_arena::mapping {
  explicit mapping(std::size_t stacks) : size{stacks * stack_size} {
    base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc{};
    ::madvise(base, size, MADV_NOHUGEPAGE);
    for (std::size_t i = stacks; i > 0; --i) free.push_back(static_cast<char*>(base) + i * stack_size);
  }
  ~mapping() { ::munmap(base, size); }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;

  std::size_t size;
  void* base;
  std::vector<char*> free;  // their tops
};

stack_arena::stack_arena(std::size_t stacks) : mapping_{std::make_shared<mapping>(stacks)} {}

boost::context::stack_context stack_arena::allocate() {
  if (mapping_->free.empty()) throw std::bad_alloc{};
  boost::context::stack_context stack;
  stack.size = stack_size;
  stack.sp = mapping_->free.back();
  mapping_->free.pop_back();
  return stack;
}

void stack_arena::deallocate(boost::context::stack_context& stack) noexcept {
  mapping_->free.push_back(static_cast<char*>(stack.sp));  // has had room for all from the beginning
}

void in_fibers(std::size_t count, const std::function<void(std::size_t)>& body) {
  stack_arena stacks{count};
  first_failure failure;
  std::vector<boost::fibers::fiber> fibers;
  fibers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    fibers.emplace_back(std::allocator_arg, stacks, [&, i] { failure.guard([&] { body(i); }); });
  }
  for (auto& fiber : fibers) fiber.join();
  failure.rethrow();
}

void in_threads(std::size_t count, const std::function<void(std::size_t)>& body) {
  first_failure failure;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { failure.guard([&] { body(i); }); });
  }
  for (auto& thread : threads) thread.join();
  failure.rethrow();
}

time_is_up::time_is_up(double seconds)
    : thread_{[this, seconds] {
        std::this_thread::sleep_for(std::chrono::duration<double>{seconds});
        up_ = true;
      }} {}

}  // namespace bench
