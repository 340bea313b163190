// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which sessions are of this process.

#include <cstdint>

namespace latchkey::detail {

/// @returns whether it is the session of a client of this process that is connected, as far as that client knows. From
/// any thread.
bool is_connected_here(std::int64_t session);

/// The session of one client, while it is connected. A debugger finds the clients of a process by them, in its memory
/// (src/package/latchkey-gdb.py): so those without a session are in the list, too.
class connected_session {
 public:
  connected_session();
  ~connected_session();
  connected_session(const connected_session&) = delete;
  connected_session& operator=(const connected_session&) = delete;

  /// @param session 0: there is no connection
  void set(std::int64_t session);

 private:
  friend bool is_connected_here(std::int64_t session);

  struct list;

  static connected_session* newest_;

  std::int64_t session_ = 0;
  connected_session* next_ = nullptr;
};

}  // namespace latchkey::detail
