// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Threads of ours handle no signals that others have sent to the service.

#include <csignal>

namespace latchkey::detail {

/// Blocks the signals of the calling thread while it lives: threads inherit the mask of the one that makes them. Not
/// those that a thread brings upon itself: a crash must reach the service's handlers.
class blocked_signals {
 public:
  blocked_signals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) ::sigdelset(&all, own);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  blocked_signals(const blocked_signals&) = delete;
  blocked_signals& operator=(const blocked_signals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace latchkey::detail
