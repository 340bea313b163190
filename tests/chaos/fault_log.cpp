// SPDX-License-Identifier: Apache-2.0
#include "fault_log.hpp"

#include <condition_variable>
#include <mutex>

namespace chaos {

void sleep(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock{mutex};
  never.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace chaos
