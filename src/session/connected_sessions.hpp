// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which sessions are of this process.

#include <cstdint>

namespace latchkey::detail {

/// @returns whether it is the session of a client of this process that is connected, as far as that client knows. From
/// any thread.
bool is_connected_here(std::int64_t session);

/// The session of one client, while it is connected.
class connected_session {
 public:
  connected_session() = default;
  ~connected_session() { set(0); }
  connected_session(const connected_session&) = delete;
  connected_session& operator=(const connected_session&) = delete;

  /// @param session 0: there is no connection
  void set(std::int64_t session);

 private:
  std::int64_t session_ = 0;
};

}  // namespace latchkey::detail
