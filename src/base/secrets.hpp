// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a client proves its identity with, in one place, which is overwritten in the end.

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/access.hpp>

namespace latchkey::detail {

/// Overwrites all of the memory of `text`, and makes it empty.
void wipe(std::string& text) noexcept;
void wipe(std::vector<credentials>& all) noexcept;

/// Credentials and the password of a certificate. Every session needs them again: the C client has a copy of its own
/// for as long as a session is open.
class secrets {
 public:
  /// Leaves nothing in what it is given.
  secrets(std::vector<credentials>& authentication, std::string& tls);
  ~secrets() { forget(); }
  secrets(const secrets&) = delete;
  secrets& operator=(const secrets&) = delete;

  /// Overwrites them. From any thread.
  void forget() noexcept;

  /// @returns `what(authentication, tls)`; both are empty once they have been forgotten. `what` must not keep copies.
  template <class Callable>
  auto read(Callable&& what) const {
    const std::lock_guard lock{mutex_};
    return std::forward<Callable>(what)(authentication_, tls_);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<credentials> authentication_;
  std::string tls_;
};

}  // namespace latchkey::detail
