// SPDX-License-Identifier: Apache-2.0
#include "session/option_check.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <latchkey/error.hpp>

#include "bridge/access_list.hpp"
#include "session/liveness.hpp"

namespace latchkey::detail {
namespace {

using std::chrono::milliseconds;

std::int64_t ceil_ms(duration time) { return std::chrono::ceil<milliseconds>(time).count(); }

/// A user who can read an entry, but not delete it, could forge its release; one who can create could claim to have been
/// let in.
void require_closed_to_others(const std::vector<acl_entry>& acl) {
  for (const auto& each : acl) {
    const bool takes_part = each.permissions.find_first_of("cr") != std::string::npos;
    const bool deletes = std::any_of(acl.begin(), acl.end(), [&](const acl_entry& other) {
      return other.scheme == each.scheme && other.id == each.id && other.permissions.find('d') != std::string::npos;
    });
    if (takes_part && !deletes) {
      throw error{errc::bad_option, fmt::format("client_options::acl lets {} read or create but not delete, so "
                                                "client_options::peers is refused; give it d, or leave peers out",
                                                name_of(each))};
    }
  }
}

void require_range(const char* option, milliseconds value, milliseconds least,
                   milliseconds most = milliseconds::max()) {
  if (value >= least && value <= most) return;
  throw error{errc::bad_option, fmt::format("client_options::{} is {} ms; use at {} {} ms", option, value.count(),
                                            value < least ? "least" : "most", (value < least ? least : most).count())};
}

/// @throws error bad_option
void require_valid(const client_options& options) {
  using namespace std::chrono_literals;
  const auto refuse = [](const char* what) { throw error{errc::bad_option, what}; };
  // The C client gives up an attempt to connect after two thirds of it.
  require_range("session_timeout", options.session_timeout, 100ms, 24h);
  require_range("server_tick", options.server_tick, 0ms, 24h);
  if (const auto least = session_timing::shortest(options.server_tick); options.session_timeout < least) {
    throw error{errc::bad_option,
                fmt::format("no lease can be kept with a session timeout of {} ms on servers with a tickTime of {} ms; "
                            "ask for at least {} ms",
                            options.session_timeout.count(), options.server_tick.count(), ceil_ms(least))};
  }
  require_range("connect_timeout", options.connect_timeout, 1ms);
  require_range("report_waits_after", options.report_waits_after, 0ms);
  require_range("close_timeout", options.close_timeout, 0ms);
  if (options.when_lost != loss_policy::at_deadline && options.when_lost != loss_policy::at_disconnection)
    refuse("client_options::when_lost is neither at_deadline nor at_disconnection");
  // What is sent with every create must fit into a request, and a label into the data that readers of a queue look at.
  if (options.label.size() > 512) refuse("client_options::label must be at most 512 bytes long");
  std::size_t bytes = 0;
  for (const auto& each : options.acl) bytes += each.scheme.size() + each.id.size();
  for (const auto& each : options.authentication) {
    bytes += each.scheme.size() + each.data.size();
    const auto colon = each.data.find(':');
    if (each.scheme == "digest" && (colon == each.data.npos || colon == 0 || colon + 1 == each.data.size()))
      refuse(
          "client_options::authentication has no user, or no password, for the scheme digest; its data is "
          "\"user:password\"");
    if (each.data.find_first_of("\r\n") != each.data.npos)
      refuse("client_options::authentication has a line break in its data, as at the end of a file; leave it out");
  }
  if (options.peers) require_closed_to_others(options.acl);
  if (bytes > 64 * 1024) refuse("client_options::acl and authentication must be at most 64 KiB together");
}

/// Caps durations so that adding them cannot overflow.
void shorten(client_options& options) {
  constexpr std::chrono::milliseconds longest = std::chrono::hours{24 * 365};
  for (auto* const each : {&options.connect_timeout, &options.close_timeout, &options.report_waits_after}) {
    *each = std::min<std::chrono::milliseconds>(*each, longest);
  }
}

}  // namespace

void check(client_options& options) {
  require_valid(options);
  shorten(options);
}

}  // namespace latchkey::detail
