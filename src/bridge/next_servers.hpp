// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Other servers for a handle that is connecting.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/client_log.hpp"

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {

/// Gives a handle another list of servers, on its IO thread, where an attempt to connect has just failed: everywhere
/// else `zoo_set_servers` races with that thread (HAZARDS 19).
class next_servers {
 public:
  /// @returns the log callback that the handle must have.
  handle_log::callback log_function() const noexcept { return log_.function(); }

  /// @param open has the C client make a handle for `list`: its first connection may end before the handle is known
  /// @returns that handle; null as the C client does
  zhandle_t* begin(const std::string& list, const std::function<zhandle_t*()>& open);
  /// Before the handle is closed.
  void end() noexcept;

  /// @param list numeric addresses in the C client's form, an odd number of them (HAZARDS 3)
  void use(std::string list);

  /// @returns how often a server has accepted a connection and closed it before it let the session in.
  std::uint64_t turned_away() const noexcept { return turned_away_; }
  /// @returns when the last attempt to connect failed, before there was a connection: the session was asked for later.
  time_point attempted_at();
  /// To be called once for each connection that was made, in their order; it may have ended meanwhile.
  /// @param current the server to which the handle is connected now; may be empty @returns that of this connection.
  std::string server_of_next(std::string current);

 private:
  void on_failed_connection(std::string_view why) noexcept;

  const handle_log log_{[this](std::string_view why) { on_failed_connection(why); }};
  std::atomic<std::uint64_t> turned_away_{0};
  std::mutex mutex_;  // of what follows
  zhandle_t* handle_ = nullptr;
  std::string next_;
  std::vector<std::string> ended_;  // the servers of connections that have ended before they were asked for
  std::size_t made_ = 0;            // connections that were asked for
  std::size_t gone_ = 0;            // connections that have ended
  time_point attempted_at_{};
  std::ptrdiff_t listed_ = 0;  // how many the C client has
};

}  // namespace latchkey::detail
