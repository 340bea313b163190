// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a guard asks of its lock.

#include <cstdint>
#include <memory>
#include <utility>

#include <latchkey/guard.hpp>

namespace latchkey::detail {

/// A lock whose grants guards hold. Without the monitor.
class guarded {
 public:
  virtual ~guarded() = default;

  /// Releases the lock if `what` is still the grant of its holder.
  /// @param holder who holds it: a fiber, or what `disown` has returned
  virtual void release_grant(std::uint64_t holder, const grant& what) noexcept = 0;

  /// The grant belongs to no fiber any more. @returns its holder from now on.
  virtual std::uint64_t disown(std::uint64_t holder, const grant& what) noexcept = 0;

 protected:
  /// @returns a guard of `lock`, which `holder` has just taken.
  static guard make_guard(std::shared_ptr<guarded> lock, grant what, std::uint64_t holder) noexcept {
    return guard{std::move(lock), std::move(what), holder};
  }
};

}  // namespace latchkey::detail
