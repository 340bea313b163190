// SPDX-License-Identifier: Apache-2.0
// Several locks at once.

#include <algorithm>
#include <chrono>
#include <future>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <latchkey/multi_lock.hpp>

#include "workloads.hpp"

namespace bench {

figures three_locks(clients& all, const route& to, double seconds) {
  latchkey::multi_lock group{
      all.at(to, 0),
      {{"/bench/latchkey/three_locks/a"}, {"/bench/latchkey/three_locks/b"}, {"/bench/latchkey/three_locks/c"}}};
  double count = 0;
  const auto start = clock::now();
  while (seconds_since(start) < seconds) {
    group.lock();
    group.unlock();
    ++count;
  }
  return rate_of(count, seconds_since(start));
}

/// A thread and a session each, that takes some of 16 locks again and again, others each time.
figures convoy(clients& all, const route& to, double seconds, std::size_t size) {
  constexpr std::size_t sessions = 8;
  constexpr std::size_t locks = 16;
  const auto run = [&](latchkey::client& owner, unsigned seed) {
    std::minstd_rand random{seed};
    std::vector<std::size_t> numbers(locks);
    std::iota(numbers.begin(), numbers.end(), 0);
    double count = 0;
    const auto start = clock::now();
    while (seconds_since(start) < seconds) {
      std::shuffle(numbers.begin(), numbers.end(), random);
      std::vector<latchkey::lock_request> wanted;
      for (std::size_t i = 0; i < size; ++i) wanted.push_back({"/bench/latchkey/convoy/" + std::to_string(numbers[i])});
      latchkey::multi_lock group{owner, std::move(wanted)};
      group.lock();
      group.unlock();
      ++count;
    }
    return count;
  };
  for (std::size_t i = 0; i < sessions; ++i) all.at(to, i);  // connected before the start
  std::vector<std::future<double>> running;
  const auto start = clock::now();
  for (unsigned i = 0; i < sessions; ++i)
    running.push_back(std::async(std::launch::async, [&, i] { return run(all.at(to, i), i + 1); }));
  double count = 0;
  for (auto& each : running) count += each.get();
  auto result = rate_of(count, seconds_since(start));
  result["locks_per_second"] = result["rate"] * static_cast<double>(size);
  return result;
}

}  // namespace bench
