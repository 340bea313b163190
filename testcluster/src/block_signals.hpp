// SPDX-License-Identifier: Apache-2.0
#pragma once
// Our threads take no signals: those are for the program's own.

#include <csignal>

namespace latchkey::testing::detail {

/// Blocks all signals for the calling thread.
inline void block_signals() noexcept {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace latchkey::testing::detail
