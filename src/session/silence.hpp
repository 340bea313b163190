// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Notices a session that connects again and again without an answer. Pure: the time is an argument.

#include "base/deadline.hpp"

namespace latchkey::detail {

/// A request that is larger than `jute.maxbuffer` makes the server close the connection. So does such a list of
/// watches, which the C client sends first when it has reconnected. It then reconnects for ever, and each time the
/// session lives on, with its nodes.
///
/// It counts the connections on which a request was sent and that ended soon, without any answer. (A connection in a
/// network that drops packets ends only after two thirds of the session timeout.) The session is given up when no grant
/// can be left in it: after T without an answer.
class silence {
 public:
  void connected(time_point now, bool sends_watches) noexcept {
    connected_ = now;
    asked_ = sends_watches;
    answered_ = false;
  }
  void asked() noexcept { asked_ = true; }
  void answered() noexcept {
    answered_ = true;
    connections_ = 0;
  }

  /// @param timeout of the session
  /// @returns whether the session is to be given up.
  bool disconnected(time_point now, duration timeout) noexcept {
    if (answered_ || !asked_ || now - connected_ > timeout / 2) {
      connections_ = 0;
      return false;
    }
    if (connections_++ == 0) since_ = connected_;
    return connections_ >= enough && now - since_ >= timeout;
  }

  /// @returns whether the last connection ended so: a request should be sent on the next one, for a sign of life.
  bool suspected() const noexcept { return connections_ > 0; }
  /// @returns whether the server has answered something on this connection.
  bool heard() const noexcept { return answered_; }
  unsigned connections() const noexcept { return connections_; }

  static constexpr unsigned enough = 5;

 private:
  time_point connected_{};
  time_point since_{};
  unsigned connections_ = 0;
  bool asked_ = false;
  bool answered_ = false;
};

}  // namespace latchkey::detail
