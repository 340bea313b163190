// SPDX-License-Identifier: Apache-2.0
// 64 fibers of one session that pass one place in the queue on, with and without somebody outside.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include <latchkey/fair_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/ticket.hpp>

#include "fibers.hpp"
#include "workloads.hpp"

namespace bench {

namespace {

constexpr std::size_t fibers = 64;
constexpr std::size_t remote_waiters = 8;

/// How many turns pass on the inside, for those outside to see.
struct turns_seen {
  std::atomic<std::uint64_t> turns{0};
  std::atomic<std::uint64_t> grants_outside{0};
  std::atomic<std::uint64_t> longest_wait{0};

  void waited(std::uint64_t count) {
    auto longest = longest_wait.load();
    while (count > longest && !longest_wait.compare_exchange_weak(longest, count)) {
    }
  }
};

/// A contender of another session: how many turns pass from the moment its place is taken until it has the lock?
/// The first wait begins before the holder can know of it, and is not counted.
void contend(latchkey::client& client, const std::string& path, turns_seen& seen, const time_is_up& over) {
  latchkey::fair_mutex lock{client, path};
  for (bool first = true; !over; first = false) {
    auto place = lock.enqueue();
    const auto before = seen.turns.load();
    place.wait();
    const auto after = seen.turns.load();
    if (!first) seen.waited(after - before);
    ++seen.grants_outside;
    lock.unlock();
  }
}

void take_turns(latchkey::mutex& lock, turns_seen& seen, const time_is_up& over) {
  in_fibers(fibers, [&](std::size_t) {
    while (!over) {
      lock.lock();
      seen.turns.store(seen.turns.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // under the lock
      lock.unlock();
    }
  });
}

}  // namespace

figures turns_64(clients& all, const route& to, double seconds) {
  latchkey::mutex lock{all.at(to, 0), "/bench/latchkey/turns"};
  turns_seen seen;
  const time_is_up over{seconds};
  take_turns(lock, seen, over);
  return rate_of(static_cast<double>(seen.turns.load()), seconds);
}

figures turns_64_outside(clients& all, const route& to, double seconds) {
  const std::string path = "/bench/latchkey/turns_outside";
  latchkey::mutex lock{all.at(to, 0), path};
  for (std::size_t i = 1; i <= remote_waiters; ++i) all.at(to, i);
  turns_seen seen;
  {
    const time_is_up over{seconds};
    std::jthread outside{
        [&] { in_threads(remote_waiters, [&](std::size_t i) { contend(all.at(to, i + 1), path, seen, over); }); }};
    take_turns(lock, seen, over);
  }
  auto result = rate_of(static_cast<double>(seen.turns.load()), seconds);
  result["longest_wait_in_turns"] = static_cast<double>(seen.longest_wait.load());
  result["grants_outside"] = static_cast<double>(seen.grants_outside.load());
  return result;
}

}  // namespace bench
