// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A time in which no server answers.

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "bridge/monitor.hpp"

namespace latchkey::detail {

/// Knows since when no server has answered, as far as this process has run to hear it, and reports it after a while, then
/// again each time the outage has lasted twice as long, at most `longest_silence` apart.
class outage {
 public:
  /// @param servers of the connect string, for the texts
  /// @param patience how long it lasts before it is reported; a second at least
  /// @param report called with how long it has lasted
  outage(monitor& own, std::string servers, duration patience, std::function<void(duration)> report);

  /// No server has answered since then. Does nothing if that is known already.
  /// @param tolerated how long tries take that for a moment's weakness
  void begin(time_point since, duration tolerated);
  /// A server answers. @returns how long the outage was, if it has been reported.
  std::optional<duration> end();

  /// @returns how long it has lasted; nothing while there is a connection.
  std::optional<duration> lasted() const;
  /// @returns when tries begin to fail; `never` while there is a connection.
  time_point tolerated_until() const { return deadline_after(counted_from(), tolerated_); }
  /// @returns whether a try is to fail with `errc::unreachable`.
  bool exceeded() const { return own_.now() >= tolerated_until(); }

  /// @returns "no server of a:2181,b:2181 has answered for 10 s".
  std::string text(duration lasted) const;

  static constexpr duration longest_silence = std::chrono::minutes{10};

 private:
  time_point counted_from() const { return since_ == never ? never : std::max(since_, own_.running_since()); }
  void report_at(time_point time);

  monitor& own_;
  const std::string servers_;
  const duration patience_;
  const std::function<void(duration)> report_;
  time_point since_ = never;
  duration tolerated_{};
  bool reported_ = false;
  timer_id timer_;
};

}  // namespace latchkey::detail
