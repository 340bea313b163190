// SPDX-License-Identifier: Apache-2.0
// Coroutines of one io_context that wait for one mutex: the turns they take, beside those of a pool of threads in which
// calls block, and the memory of those that wait.

#include <malloc.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <latchkey/boost_asio.hpp>
#include <latchkey/mutex.hpp>

#include "fibers.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

namespace net = boost::asio;

constexpr std::size_t coroutines = 64;
constexpr std::size_t many = 10'000;

net::awaitable<void> wait_without_a_thread(latchkey::mutex& lock, const time_is_up& over, std::uint64_t& turns) {
  while (!over) {
    auto held = co_await async_acquire(lock, net::use_awaitable);
    ++turns;
  }
}

net::awaitable<latchkey::guard> blocking(latchkey::mutex& lock) { co_return lock.acquire(); }

net::awaitable<void> wait_on_a_thread(latchkey::mutex& lock, const time_is_up& over, std::uint64_t& turns,
                                      net::thread_pool& pool) {
  while (!over) {
    auto held = co_await net::co_spawn(pool, blocking(lock), net::use_awaitable);
    ++turns;
  }
}

/// A coroutine that waits until it is destroyed.
struct waiting {
  struct promise_type {
    waiting get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> frame;
};

/// The awaiting of latchkey is part of the frame.
waiting waits(latchkey::mutex* lock) {
  const auto where = [](latchkey::resumption) {};
  if (lock) {
    const auto held = co_await co_acquire(*lock, where);
  } else {
    co_await std::suspend_always{};
  }
}

std::size_t memory_of(latchkey::mutex* lock) {
  std::vector<waiting> all;
  all.reserve(many);
  const auto before = mallinfo2().uordblks;
  for (std::size_t i = 0; i < many; ++i) all.push_back(waits(lock));
  const auto used = mallinfo2().uordblks - before;
  for (auto& each : all) each.frame.destroy();
  return used / many;
}

}  // namespace

figures coroutine_turns_64(clients& all, const route& to, double seconds) {
  latchkey::mutex lock{all.at(to, 0), "/bench/latchkey/coroutine_turns"};
  std::uint64_t turns = 0;
  const time_is_up over{seconds};
  net::io_context loop{1};
  for (std::size_t i = 0; i < coroutines; ++i)
    net::co_spawn(loop, wait_without_a_thread(lock, over, turns), net::detached);
  loop.run();
  return rate_of(static_cast<double>(turns), seconds);
}

figures pool_turns_64(clients& all, const route& to, double seconds) {
  latchkey::mutex lock{all.at(to, 0), "/bench/latchkey/pool_turns"};
  std::uint64_t turns = 0;
  const time_is_up over{seconds};
  net::thread_pool pool{coroutines};
  net::io_context loop{1};
  for (std::size_t i = 0; i < coroutines; ++i)
    net::co_spawn(loop, wait_on_a_thread(lock, over, turns, pool), net::detached);
  loop.run();
  return rate_of(static_cast<double>(turns), seconds);
}

figures coroutines_10000(clients& all, const route& to, double /*seconds*/) {
  latchkey::mutex lock{all.at(to, 0), "/bench/latchkey/coroutines"};
  const auto held = lock.acquire();
  const auto frame = memory_of(nullptr);
  return {{"waiters", many}, {"bytes_per_waiter", static_cast<double>(memory_of(&lock) - frame)}};
}

}  // namespace bench
