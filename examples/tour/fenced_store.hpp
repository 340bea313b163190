// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the lock of the tour protects.

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <latchkey/fencing_token.hpp>

namespace tour {

/// Holds one value, and refuses every write with a token smaller than the largest it has seen. It knows nothing of
/// locks, sessions and processes: comparing two numbers is all that a store has to do. Thread-safe.
class fenced_store {
 public:
  /// @returns whether the value was taken.
  bool write(latchkey::fencing_token token, std::string value);

  /// Runs `tell(true)` when a write with a larger token has been accepted, at once if that has happened; `tell(false)`
  /// when the store closes first. On the thread of the one who writes or closes.
  void when_overtaken(latchkey::fencing_token token, std::function<void(bool)> tell);

  /// No worker waits any more.
  void close();

  latchkey::fencing_token largest() const;

 private:
  struct waiter {
    latchkey::fencing_token token;
    std::function<void(bool)> tell;
  };

  mutable std::mutex mutex_;
  latchkey::fencing_token largest_;
  std::string value_;
  std::vector<waiter> waiters_;
  bool closed_ = false;
};

}  // namespace tour
