// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Other servers for a handle that is connecting.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "bridge/client_log.hpp"

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {

/// Gives a handle another list of servers, on its IO thread, where an attempt to connect has just failed: everywhere
/// else `zoo_set_servers` races with that thread (HAZARDS 19).
class next_servers {
 public:
  /// @returns the log callback that the handle must have.
  handle_log::callback log_function() const noexcept { return log_.function(); }

  void begin(zhandle_t* handle, const std::string& list);
  /// Before the handle is closed.
  void end() noexcept;

  /// @param list numeric addresses in the C client's form, an odd number of them (HAZARDS 3)
  void use(std::string list);

  /// @returns how often a server has accepted a connection and closed it before it let the session in.
  std::uint64_t turned_away() const noexcept { return turned_away_; }
  /// @returns when the last attempt to connect failed, before there was a connection: the session was asked for later.
  time_point attempted_at();
  /// @returns `server`; if it is empty, that of the last connection that was made and has ended.
  std::string or_left(std::string server);

 private:
  void on_failed_connection(std::string_view why) noexcept;

  const handle_log log_{[this](std::string_view why) { on_failed_connection(why); }};
  std::atomic<std::uint64_t> turned_away_{0};
  std::mutex mutex_;  // of what follows; never held while the C client connects
  zhandle_t* handle_ = nullptr;
  std::string next_;
  std::string left_;
  time_point attempted_at_{};
  std::ptrdiff_t listed_ = 0;  // how many the C client has
};

}  // namespace latchkey::detail
