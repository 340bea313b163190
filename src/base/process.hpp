// SPDX-License-Identifier: Apache-2.0
#pragma once

/// This process, and children that it forks.

#include <sys/types.h>

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

/// A file that only this process has open: a forked child, which would keep its lock (`flock`), has it closed.
class unshared_file {
 public:
  unshared_file() = default;
  /// @param descriptor open, or negative: none
  explicit unshared_file(int descriptor);
  unshared_file(unshared_file&& other) noexcept;
  unshared_file& operator=(unshared_file&& other) noexcept;
  ~unshared_file();

  /// @returns negative: none, or something else has closed it, and the number may be that of another file.
  int get() const noexcept;
  /// @returns whether no other object of this process has taken the same file, also if something has closed its descriptor.
  bool take();

  struct entry;

 private:
  entry* own_ = nullptr;
};

/// For what must not be destroyed in a forked child, as threads of its parent may have been changing it. Keeps `what`
/// until the end of the process, where leak checkers see it.
void keep_for_ever(std::shared_ptr<const void> what) noexcept;

}  // namespace latchkey::detail
