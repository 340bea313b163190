// SPDX-License-Identifier: Apache-2.0
#include "bridge/two_threads.hpp"

#include <future>
#include <thread>

#include "bridge/blocked_signals.hpp"

namespace latchkey::detail {

void require_two_threads() {
  std::promise<void> both;
  const auto known = both.get_future().share();
  const blocked_signals inherited;
  std::thread first{[known] { known.wait(); }};
  try {
    std::thread{[] {}}.join();
  } catch (...) {
    both.set_value();
    first.join();
    throw;
  }
  both.set_value();
  first.join();
}

}  // namespace latchkey::detail
