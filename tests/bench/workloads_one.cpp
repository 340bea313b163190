// SPDX-License-Identifier: Apache-2.0
// One caller, on a plain thread.

#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <latchkey/mutex.hpp>
#include <latchkey/robust_mutex.hpp>
#include <latchkey/transaction.hpp>

#include "workloads.hpp"

namespace bench {

namespace {

figures cycles_of(auto lock, double seconds) {
  double count = 0;
  const auto start = clock::now();
  while (seconds_since(start) < seconds) {
    lock.lock();
    lock.unlock();
    ++count;
  }
  return rate_of(count, seconds_since(start));
}

}  // namespace

figures uncontended(clients& all, const route& to, double seconds) {
  return cycles_of(latchkey::mutex{all.at(to, 0), "/bench/latchkey/uncontended"}, seconds);
}

figures robust(clients& all, const route& to, double seconds) {
  return cycles_of(latchkey::robust_mutex{all.at(to, 0), "/bench/latchkey/robust"}, seconds);
}

figures try_held(clients& all, const route& to, double seconds) {
  latchkey::mutex holder{all.at(to, 1), "/bench/latchkey/try_held"};
  holder.lock();
  latchkey::mutex lock{all.at(to, 0), "/bench/latchkey/try_held"};
  double count = 0;
  const auto start = clock::now();
  while (seconds_since(start) < seconds) {
    if (lock.try_lock()) throw std::runtime_error{"took a held lock"};
    ++count;
  }
  const auto elapsed = seconds_since(start);
  holder.unlock();
  return rate_of(count, elapsed);
}

/// The time of each lock and unlock; the first, which may ask the ensemble, is not among them.
figures relock(clients& all, const route& to, double seconds) {
  auto& lock = all.lingering(to);
  lock.lock();
  lock.unlock();
  std::vector<double> cycles;
  cycles.reserve(static_cast<std::size_t>(seconds * 10e6));
  const auto start = clock::now();
  auto last = start;
  while (last - start < std::chrono::duration<double>{seconds}) {
    lock.lock();
    lock.unlock();
    const auto now = clock::now();
    cycles.push_back(std::chrono::duration<double, std::nano>{now - last}.count());
    last = now;
  }
  auto result = rate_of(static_cast<double>(cycles.size()), seconds_since(start));
  result["median_ns"] = median(cycles);
  return result;
}

/// Data in ZooKeeper, written under a lock that is released with it.
figures locked_write(clients& all, const route& to, double seconds) {
  auto& client = all.at(to, 0);
  const std::string path = "/bench/latchkey/data";
  const std::string data(100, 'x');
  latchkey::mutex lock{client, "/bench/latchkey/locked_write"};
  if (const std::lock_guard guard{lock}; !latchkey::read(client, path).exists)
    latchkey::transaction{client, lock.held()}.create(path).commit();
  double count = 0;
  const auto start = clock::now();
  while (seconds_since(start) < seconds) {
    lock.lock();
    if (!latchkey::transaction{client, lock.held()}.set(path, data).commit_and_release())
      throw std::runtime_error{"not written"};
    lock.unlock();
    ++count;
  }
  return rate_of(count, seconds_since(start));
}

}  // namespace bench
