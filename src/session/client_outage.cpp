// SPDX-License-Identifier: Apache-2.0
/// What a client says of a time in which no server answers.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "bridge/close_on_exec.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

std::string client_core::why_not_connected() const {
  if (failed_) return failed_->what;
  const auto lasted = outage_.lasted();
  return lasted ? fmt::format("{}; {}", outage_.text(*lasted), advice()) : std::string{};
}

std::optional<failure> client_core::unreachable() const {
  if (!outage_.exceeded()) return std::nullopt;
  return failure{errc::unreachable, why_not_connected(), {}};
}

void client_core::say_if_never_connected(const std::string& path) {
  const auto lasted = outage_.lasted();
  if (session_.ever_connected() || !lasted || *lasted < std::chrono::milliseconds{100}) return;
  if (std::exchange(said_never_connected_, true)) return;
  log(log_level::warning,
      fmt::format("a call has ended before the client was ever connected, so it knows nothing of the lock; {}; or call "
                  "wait_for_connection() first",
                  why_not_connected()),
      {{"path", path}});
}

time_point client_core::end_of_try(duration most) const {
  const auto now = monitor_->now();
  if (!session_.ever_connected()) return std::min(outage_.tolerated_until(), deadline_after(now, most));
  return deadline_after(now, std::min<duration>({most, session_.info().timeout / 2, options_.connect_timeout}));
}

std::string client_core::advice() const {
  if (auto why = session_.failure(); !why.empty()) return why;
  if (const auto error = why_no_socket();
      error == std::errc::too_many_files_open || error == std::errc::too_many_files_open_in_system) {
    return fmt::format("no socket can be opened ({}): raise the limit of open files (ulimit -n)", error.message());
  }
  if (session_.is_turned_away()) {
    return "servers, or proxies before them, accept connections and close them: they have no quorum or are down, "
           "their limit for this address (maxClientCnxns) is reached, or they are no ZooKeeper servers";
  }
  if (session_.is_ignored()) {
    return "something accepts connections there and does not answer: a server that is stopped or overloaded, or no "
           "ZooKeeper server";
  }
  return "check the connect string, the servers and the network";
}

/// The C client notices a silent server when it has heard nothing, not even the answer to a ping, for two thirds of the
/// session timeout.
void client_core::begin_outage() {
  if (failed_) return;
  const duration timeout = session_.info().timeout;
  outage_.begin(std::max(session_.heard_at(), monitor_->now() - timeout * 2 / 3), timeout);
}

void client_core::report_outage(duration lasted) {
  const auto outage = std::chrono::floor<std::chrono::milliseconds>(lasted);
  const auto calls = waiting_calls_.count();
  const auto text =
      fmt::format("{}; {} {}; {}", outage_.text(lasted), calls, calls == 1 ? "call waits" : "calls wait", advice());
  log(log_level::warning, text, {{"outage_ms", outage}, {"waiting_calls", calls}, {"cause", session_.failure()}});
  tell({.what = client_event::kind::unreachable, .outage = outage, .waiting_calls = calls});
}

}  // namespace latchkey::detail
