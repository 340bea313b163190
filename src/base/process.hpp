// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Forked children.

#include <atomic>
#include <cstdint>
#include <memory>

#include <latchkey/export.hpp>

namespace latchkey::detail {

/// How many times the line of processes that leads to this one has forked since the first `home` was made.
LATCHKEY_EXPORT extern std::atomic<std::uint32_t> forks;

/// The process in which an object was made.
class home {
 public:
  LATCHKEY_EXPORT home();

  /// @returns whether this process is a child that was forked since. Costs one load.
  bool left() const noexcept { return made_ != forks.load(std::memory_order_relaxed); }

 private:
  std::uint32_t made_;
};

/// For what must not be destroyed in a forked child, as threads of its parent may have been changing it. Keeps `what`
/// until the end of the process, where leak checkers see it.
void keep_for_ever(std::shared_ptr<const void> what) noexcept;

}  // namespace latchkey::detail
