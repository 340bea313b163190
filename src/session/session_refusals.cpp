// SPDX-License-Identifier: Apache-2.0
/// What servers refuse without an answer: requests that end the connection.

#include "base/log.hpp"
#include "session/session.hpp"

namespace latchkey::detail {

/// @returns whether it waits, and all of its urgency behind it: it may be what has ended the last connections.
bool session::is_held_back(const waiting& next) {
  if (suspects_.empty() || next.how == urgency::proof || next.is_stale()) return false;
  const auto until = suspects_.held_until(next.shape);
  if (until == time_point::min()) return false;
  if (monitor_.now() < until) {
    if (!held_timer_) {
      held_timer_ = monitor_.at(until, [this] {
        held_timer_ = {};
        if (connected_) send_waiting();
      });
    }
    return true;
  }
  return !silence_.heard();
}

/// @returns `ok` if it may be sent.
reply_code session::refusal_of(const waiting& next) {
  const auto connections = suspects_.empty() ? 0 : suspects_.refused_after(next.shape, monitor_.now());
  if (connections == 0 || next.how == urgency::proof) return reply_code::ok;
  const bool told = refused_after_ == connections && refused_bytes_ == next.shape.bytes;
  refused_after_ = connections;
  refused_bytes_ = next.shape.bytes;
  if (told) return reply_code::too_large;
  const auto& path = next.what.path.empty() && !next.what.steps.empty() ? next.what.steps.front().path : next.what.path;
  log(log_level::error,
      "a request is not sent any more, as each connection on which it was sent has ended; it is probably larger than "
      "jute.maxbuffer of the servers",
      {{"path", path}, {"bytes", refused_bytes_}, {"connections", connections}});
  return reply_code::too_large;
}

/// Soon after it was sent: a network that is down ends a connection after much longer.
void session::blame_for_end(const pending& request) {
  if (request.unsent != reply_code::ok || request.shape.bytes <= largest_lost_.bytes) return;
  if (monitor_.now() - request.sent > duration{info_.timeout} / 4) return;
  largest_lost_ = request.shape;
  largest_is_proof_ = request.how == urgency::proof;
}

}  // namespace latchkey::detail
