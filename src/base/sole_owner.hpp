// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Objects that are used again.

#include <atomic>
#include <memory>

namespace latchkey::detail {

/// @returns whether this is the last reference; then what its last user did comes before what we do with it.
/// @pre no new reference is made meanwhile, as from a weak_ptr
template <class T>
bool is_sole_owner(const std::shared_ptr<T>& of) noexcept {
  if (of.use_count() != 1) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

}  // namespace latchkey::detail
