// SPDX-License-Identifier: Apache-2.0
// What `latchkey doctor` makes of what it has seen.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "answer_times.hpp"
#include "doctor.hpp"
#include "run_times.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Of T, as measured for `client_options::session_timeout`.
constexpr double survived_at_worst = 0.3;
/// So much of T before the end of the lease a command is asked to end, without --grace.
constexpr double longest_warning = 0.25;

/// More than this the kernel cannot correct. The lease allows for a clock that is wrong by 8 %.
constexpr double near_the_limit = 450;
constexpr double limit_of_kernel = 500;

constexpr auto most_ahead = 1s;

/// @returns "0.31ms", "42ms".
std::string short_time(nanoseconds time) {
  const auto ms = std::chrono::duration<double, std::milli>(time).count();
  return fmt::format("{:.{}f}ms", ms, ms < 10 ? 2 : 0);
}

/// @returns "9.2s", "400ms".
std::string part_of(milliseconds whole, double part) {
  const auto s = std::chrono::duration<double>(whole).count() * part;
  return s < 1 ? fmt::format("{:.0f}ms", s * 1000) : fmt::format("{:.1f}s", s);
}

std::string words_of(const answer_times& times) {
  return fmt::format("median {}, p99 {}", short_time(times.median), short_time(times.p99));
}

const char* name_of(verdict how) {
  switch (how) {
    case verdict::fine:
      return "ok";
    case verdict::warning:
      return "warning";
    case verdict::failure:
      break;
  }
  return "failure";
}

}  // namespace

finding judge_round_trips(std::string server, std::vector<nanoseconds> all, milliseconds T) {
  const answer_times times{std::move(all)};
  finding result{verdict::fine, "server " + std::move(server), "round trip: " + words_of(times)};
  if (times.p99 > T / 12) {
    result.how = verdict::failure;
    result.text += fmt::format("; above T/12, {}: leases will be lost without a fault", short_time(T / 12));
  } else if (times.p99 > T / 24) {
    result.how = verdict::warning;
    result.text += fmt::format("; above T/24, {}: holders may be warned without need; ask for a larger T with -T",
                               short_time(T / 24));
  }
  return result;
}

finding judge_quorum(std::vector<nanoseconds> all, milliseconds T) {
  const answer_times times{std::move(all)};
  finding result{verdict::fine, "quorum", "transaction: " + words_of(times)};
  if (times.p99 > T / 16) {
    result.how = verdict::warning;
    result.text += fmt::format("; above T/16, {}: look at the disks of the servers, and at the network between them",
                               short_time(T / 16));
  }
  return result;
}

finding judge_limits(std::string server, const session_limits& its, milliseconds T, milliseconds tick) {
  finding result{verdict::fine, "server " + std::move(server),
                 fmt::format("session timeouts from {} to {}", part_of(its.least, 1), part_of(its.most, 1))};
  const auto warn = [&](const std::string& why) {
    result.how = verdict::warning;
    result.text += "; " + why;
  };
  if (T < its.least) warn(fmt::format("T = {} is raised to {}", part_of(T, 1), part_of(its.least, 1)));
  if (T > its.most) warn(fmt::format("T = {} is lowered to {}", part_of(T, 1), part_of(its.most, 1)));
  if (tick > 0ms && its.least < 2 * tick) {
    warn(fmt::format("minSessionTimeout is below two ticks of {}: sessions may end early", part_of(tick, 1)));
  }
  return result;
}

finding judge_agreement(const std::vector<session_limits>& all) {
  const bool alike = std::all_of(all.begin(), all.end(), [&](const session_limits& each) {
    return each.least == all.front().least && each.most == all.front().most;
  });
  if (alike) return {verdict::fine, "limits", "all servers that were reached grant the same session timeouts"};
  return {verdict::warning, "limits", "the servers grant different session timeouts: what T is depends on the server"};
}

finding judge_lease(milliseconds granted, milliseconds tick) {
  finding result{
      verdict::fine, "lease",
      fmt::format(
          "T = {}: a lease lasts {}, and is proved every {}; a network that freezes for {} is "
          "survived by a lock, and for {} by a command of run, for longer with a shorter --grace; the lock of a "
          "holder that crashes is free {} to {} later; --grace may be {}",
          part_of(granted, 1), part_of(granted, 11.0 / 12), part_of(granted, 1.0 / 4),
          part_of(granted, survived_at_worst), part_of(granted, survived_at_worst - longest_warning),
          part_of(granted, 1), part_of(granted + tick, 1), part_of(longest_grace(granted), 1))};
  if (tick > 0ms && granted < 5 * tick) {
    result.how = verdict::warning;
    result.text += fmt::format(
        "; T is below five ticks of {}: the leader's pings may be late by little only; ask for "
        "{} with -T",
        part_of(tick, 1), part_of(5 * tick, 1));
  }
  return result;
}

finding judge_keeper() {
  return {verdict::failure, "servers",
          "this is ClickHouse Keeper, which replaces sessions without a word: two holders may believe that they have a "
          "lock; use ZooKeeper"};
}

finding judge_peers(bool answers) {
  if (answers) return {verdict::fine, "peers", "datagrams to the address that others are told arrive, from this host"};
  return {verdict::warning, "peers",
          "datagrams to the address that others are told do not arrive: give --peers LISTEN,ADVERTISE with one that "
          "others reach, and let UDP pass; until then the ensemble hands off"};
}

finding judge_access(const std::string& path, const std::string& permissions_of_anyone) {
  if (permissions_of_anyone.empty()) return {verdict::fine, "access", path + ": nothing is open to anyone"};
  return {
      verdict::warning, "access",
      fmt::format("{}: {} is open to anyone who can connect; set an access control list", path, permissions_of_anyone)};
}

finding judge_clock(const clock_state& state, std::optional<milliseconds> ahead) {
  finding result{verdict::fine, "clock", ahead ? "agrees with that of the leader" : "synchronised"};
  std::string wrong;
  const auto warn = [&](const std::string& why) { wrong += (wrong.empty() ? "" : "; ") + why; };
  if (ahead && std::chrono::abs(*ahead) > most_ahead) {
    warn(fmt::format("{} {} that of the leader: ages that are shown are wrong by as much",
                     part_of(std::chrono::abs(*ahead), 1), *ahead > 0ms ? "ahead of" : "behind"));
  }
  if (state.known && !state.synchronised) warn("not synchronised: start chrony, or another time service");
  if (state.known && std::abs(state.correction) >= near_the_limit) {
    warn(fmt::format("its frequency is corrected by {:.0f} ppm, near the kernel's limit of {:.0f}: it may be broken",
                     state.correction, limit_of_kernel));
  }
  if (!wrong.empty()) result = {verdict::warning, "clock", wrong};
  return result;
}

std::string text_of(const finding& what) {
  return fmt::format("{:7}  {}: {}\n", name_of(what.how), printable(what.about), printable(what.text));
}

std::string json_of(const finding& what) {
  const nlohmann::ordered_json object{{"verdict", name_of(what.how)}, {"about", what.about}, {"text", what.text}};
  return object.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace command
