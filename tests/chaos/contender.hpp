// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One fiber of a worker process.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/mutex.hpp>

#include "recorder.hpp"

namespace chaos {

using mutexes = std::vector<std::unique_ptr<latchkey::mutex>>;

class contender {
 public:
  contender(std::string name, latchkey::client& client, mutexes& locks, recorder& pen,
            std::chrono::milliseconds session_timeout, std::uint64_t seed)
      : name_{std::move(name)},
        client_{client},
        locks_{locks},
        pen_{pen},
        session_timeout_{session_timeout},
        random_{seed} {}

  /// Takes locks in every manner, until `finish`; then each lock once more.
  void run(const std::atomic<bool>& finish);

 private:
  void call_in_some_manner(int lock);
  void call_and_cancel(int lock);
  void call(int lock, const std::string& manner, const std::function<bool(latchkey::mutex&)>& take);
  void use(int lock);
  void work(int lock, const latchkey::grant& grant);
  void after_loss(int lock, const latchkey::grant& grant);

  /// One look at the grant, written down. @returns whether it is held.
  bool look(int lock, const latchkey::grant& grant, event_kind kind);
  void tell(event_kind kind, int lock, const latchkey::grant& grant, std::string text = {},
            clock::time_point at = clock::now()) const;
  std::chrono::milliseconds hold_time(int lock);
  std::chrono::milliseconds up_to(std::chrono::milliseconds most);
  bool one_in(int count) { return std::uniform_int_distribution{1, count}(random_) == 1; }

  const std::string name_;
  latchkey::client& client_;
  mutexes& locks_;
  recorder& pen_;
  const std::chrono::milliseconds session_timeout_;
  std::mt19937_64 random_;
  const std::atomic<bool>* finish_ = nullptr;
};

}  // namespace chaos
