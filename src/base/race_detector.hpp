// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What ThreadSanitizer is told: where a program is compiled with it and this library is not, it sees the mutexes of the
/// library, and not its atomics.

extern "C" {
// Of <sanitizer/tsan_interface.h>, where the program is compiled so; else null.
// NOLINTBEGIN(bugprone-reserved-identifier)
[[gnu::weak, gnu::visibility("default")]] void __tsan_acquire(void* address);
[[gnu::weak, gnu::visibility("default")]] void __tsan_release(void* address);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace latchkey::detail {

/// All that this thread has done comes before what a thread does after `happens_after(at)`.
inline void happens_before(const void* at) noexcept {
  if (__tsan_release != nullptr) __tsan_release(const_cast<void*>(at));
}

inline void happens_after(const void* at) noexcept {
  if (__tsan_acquire != nullptr) __tsan_acquire(const_cast<void*>(at));
}

}  // namespace latchkey::detail
