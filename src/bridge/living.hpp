// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which of those that call latchkey have not ended.

#include <pthread.h>

#include <cstdint>
#include <mutex>
#include <unordered_set>

namespace latchkey::detail {

/// The numbers of fibers and threads, from their first call to their end. From any thread; a fork finds it unlocked.
class living {
 public:
  /// Never destroyed: fibers may end later than static objects do.
  static living& all() {
    static auto& instance = *new living;
    return instance;
  }

  void add(std::uint64_t number) {
    const std::lock_guard lock{mutex_};
    numbers_.insert(number);
  }
  void remove(std::uint64_t number) noexcept {
    const std::lock_guard lock{mutex_};
    numbers_.erase(number);
  }
  bool has(std::uint64_t number) {
    const std::lock_guard lock{mutex_};
    return numbers_.contains(number);
  }

 private:
  living() {
    ::pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); }, [] { all().mutex_.unlock(); });
  }

  std::mutex mutex_;
  std::unordered_set<std::uint64_t> numbers_;
};

}  // namespace latchkey::detail
