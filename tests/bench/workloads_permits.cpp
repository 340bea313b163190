// SPDX-License-Identifier: Apache-2.0
// Permits of a semaphore that has two.

#include <cstdint>
#include <deque>
#include <numeric>
#include <vector>

#include <latchkey/semaphore.hpp>

#include "fibers.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

/// Until the time is up, and once after it.
double cycle(latchkey::semaphore& permits, const time_is_up& over) {
  for (double count = 0;; ++count) {
    auto held = permits.acquire();
    const bool last{over};
    held.release();
    if (last) return count;
  }
}

}  // namespace

figures permit_free(clients& all, const route& to, double seconds) {
  latchkey::semaphore permits{all.at(to, 0), "/bench/latchkey/permit_free", 2};
  const time_is_up over{seconds};
  return rate_of(cycle(permits, over), seconds, 1);
}

figures permits_8(clients& all, const route& to, double seconds) {
  std::deque<latchkey::semaphore> permits;
  for (std::size_t i = 0; i < 8; ++i) permits.emplace_back(all.at(to, i), "/bench/latchkey/permits_8", 2);
  std::vector<double> counts(permits.size());
  const time_is_up over{seconds};
  in_threads(permits.size(), [&](std::size_t i) { counts[i] = cycle(permits[i], over); });
  return rate_of(std::accumulate(counts.begin(), counts.end(), 0.0), seconds, static_cast<double>(counts.size()));
}

figures permit_turns(clients& all, const route& to, double seconds) {
  latchkey::semaphore permits{all.at(to, 0), "/bench/latchkey/permit_turns", 2};
  std::vector<double> counts(64);
  const time_is_up over{seconds};
  in_fibers(counts.size(), [&](std::size_t i) { counts[i] = cycle(permits, over); });
  return rate_of(std::accumulate(counts.begin(), counts.end(), 0.0), seconds, static_cast<double>(counts.size()));
}

}  // namespace bench
