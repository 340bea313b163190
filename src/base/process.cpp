// SPDX-License-Identifier: Apache-2.0
#include "base/process.hpp"

#include <pthread.h>

#include <utility>

namespace latchkey::detail {
namespace {

struct kept {
  std::shared_ptr<const void> what;
  kept* next;
};

std::atomic<kept*> first_kept{nullptr};

/// For a child that is forked without the handlers of pthread_atfork (vfork, posix_spawn) latchkey does not exist: it
/// only executes another program.
bool count_forks() noexcept {
  return ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }) == 0;
}

}  // namespace

std::atomic<std::uint32_t> forks{0};

home::home() : made_{forks.load(std::memory_order_relaxed)} {
  [[maybe_unused]] static const bool counted = count_forks();
}

void keep_for_ever(std::shared_ptr<const void> what) noexcept {
  auto* const mine = new kept{std::move(what), first_kept.load(std::memory_order_relaxed)};
  while (!first_kept.compare_exchange_weak(mine->next, mine, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace latchkey::detail
