// SPDX-License-Identifier: Apache-2.0
/// The numbers of a client in Prometheus' text format, version 0.0.4.

#include <latchkey/metrics.hpp>

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>

#include <fmt/format.h>

#include <latchkey/error.hpp>

namespace latchkey {
namespace {

using seconds = std::chrono::duration<double>;

bool is_name(std::string_view text) {
  const auto may_follow = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_' || c == ':'); };
  return !text.empty() && std::all_of(text.begin(), text.end(), may_follow) && (text[0] < '0' || text[0] > '9');
}

std::string escape(std::string_view text) {
  std::string result;
  for (const auto c : text) {
    if (c == '\n') {
      result += "\\n";
    } else {
      if (c == '\\' || c == '"') result += '\\';
      result += c;
    }
  }
  return result;
}

/// Writes families of samples, one after another.
class writer {
 public:
  explicit writer(std::string_view prefix) : prefix_{prefix} {}

  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    begin(name, "counter", help);
    sample({}, {}, value);
  }
  void gauge(std::string_view name, std::string_view help, auto value) {
    begin(name, "gauge", help);
    sample({}, {}, value);
  }
  void histogram(std::string_view name, std::string_view help, const duration_histogram& value) {
    begin(name, "histogram", help);
    samples({}, value);
  }

  // Of every group of locks:
  void counters(std::string_view name, std::string_view help, const std::vector<lock_metrics>& locks,
                std::uint64_t lock_metrics::*value, std::string_view type = "counter") {
    begin(name, type, help);
    for (const auto& each : locks) sample({}, label("group", each.group), each.*value);
  }
  void histograms(std::string_view name, std::string_view help, const std::vector<lock_metrics>& locks,
                  duration_histogram lock_metrics::*value) {
    begin(name, "histogram", help);
    for (const auto& each : locks) samples(label("group", each.group), each.*value);
  }
  void drops(std::string_view name, std::string_view help, const peer_metrics& of) {
    begin(name, "counter", help);
    sample({}, label("reason", "malformed"), of.malformed);
    sample({}, label("reason", "unknown"), of.unknown);
    sample({}, label("reason", "bad tag"), of.bad_tag);
    sample({}, label("reason", "stale"), of.stale);
  }
  void losses(std::string_view name, std::string_view help, const std::vector<lock_metrics>& locks) {
    begin(name, "counter", help);
    for (const auto& each : locks) {
      for (std::size_t i = 0; i < each.lost.size(); ++i) {
        const auto reason = label("reason", to_string(static_cast<loss_reason>(i)));
        sample({}, label("group", each.group) + ',' + reason, each.lost[i]);
      }
    }
  }

  std::string text() && { return std::move(text_); }

 private:
  static std::string label(std::string_view name, std::string_view value) {
    return fmt::format("{}=\"{}\"", name, escape(value));
  }

  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = fmt::format("{}_{}", prefix_, name);
    fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name_, help, type);
  }

  void sample(std::string_view suffix, std::string_view labels, auto value) {
    const auto* const form = labels.empty() ? "{}{}{} {}\n" : "{}{}{{{}}} {}\n";
    fmt::format_to(std::back_inserter(text_), fmt::runtime(form), name_, suffix, labels, value);
  }

  void samples(const std::string& labels, const duration_histogram& value) {
    const auto others = labels.empty() ? labels : labels + ',';
    std::uint64_t count = 0;
    for (std::size_t i = 0; i + 1 < value.buckets.size(); ++i) {
      count += value.buckets[i];
      const seconds end = std::chrono::microseconds{std::int64_t{1} << i};
      sample("_bucket", fmt::format("{}le=\"{}\"", others, end.count()), count);
    }
    sample("_bucket", others + "le=\"+Inf\"", value.count);
    sample("_sum", labels, seconds{value.sum}.count());
    sample("_count", labels, value.count);
  }

  const std::string_view prefix_;
  std::string name_;
  std::string text_;
};

void write_client(writer& out, const client_metrics& what) {
  out.counter("connections_total", "Connections to a server.", what.connections);
  out.counter("disconnections_total", "Connections that were lost.", what.disconnections);
  out.counter("sessions_total", "Sessions that were begun.", what.sessions);
  out.counter("expirations_total", "Sessions that the ensemble has ended.", what.expirations);
  out.counter("reads_total", "Requests that only read.", what.reads);
  out.counter("writes_total", "Single creates and deletes.", what.writes);
  out.counter("transactions_total", "Writes of several nodes, and proofs.", what.transactions);
  out.counter("syncs_total", "Syncs that keep the lease ready.", what.syncs);
  out.counter("watches_total", "Watches that were set.", what.watches);
  out.counter("nudges_total", "Syncs that were to free a stuck request.", what.nudges);
  out.counter("proofs_total", "Proofs of the lease that were answered.", what.proofs);
  out.counter("suspects_total", "Times that a proof was overdue.", what.suspects);
  out.gauge("unanswered_requests", "Requests that are not answered yet.", what.unanswered);
  out.gauge("deletions_owed", "Nodes that are still to be deleted.", what.deletions_owed);
  out.histogram("request_seconds", "Time from a request to its answer.", what.request);
  out.histogram("proof_seconds", "Time from a proof to its answer.", what.proof);
  if (what.least_left) {
    out.gauge("lease_least_left_seconds", "Least that was left of a lease when it was extended, of the last minute.",
              seconds{*what.least_left}.count());
  }
}

void write_locks(writer& out, const std::vector<lock_metrics>& locks) {
  using m = lock_metrics;
  out.counters("granted_total", "Grants.", locks, &m::granted);
  out.counters("granted_at_once_total", "Grants with a new entry that none was ahead of.", locks, &m::granted_at_once);
  out.counters("turns_total", "Grants on the entry of an earlier caller.", locks, &m::turns);
  out.counters("lingered_total", "Grants on an entry that had been kept.", locks, &m::lingered);
  out.counters("released_total", "Grants that were unlocked.", locks, &m::released);
  out.losses("lost_total", "Grants that were lost.", locks);
  out.counters("refused_total", "Tries that did not find the lock free.", locks, &m::refused);
  out.counters("timed_out_total", "Calls whose time was over.", locks, &m::timed_out);
  out.counters("cancelled_total", "Calls that a stop token ended.", locks, &m::cancelled);
  out.counters("failed_total", "Calls that threw while they waited.", locks, &m::failed);
  out.counters("asked_to_release_total", "Grants whose holder was asked to release.", locks, &m::asked_to_release);
  out.counters("abandoned_total", "Grants that were told of an owner who had not unlocked.", locks, &m::abandoned);
  out.counters("waiting", "Calls that wait.", locks, &m::waiting, "gauge");
  out.counters("held", "Grants that are held.", locks, &m::held, "gauge");
  out.histograms("wait_seconds", "Time that granted calls have waited.", locks, &m::wait);
  out.histograms("hold_seconds", "Time that ended grants were held.", locks, &m::hold);
}

void write_peers(writer& out, const peer_metrics& what) {
  out.counter("peer_admitted_total", "Contenders admitted by a datagram.", what.admitted);
  out.counter("peer_subscriptions_total", "Subscriptions to entries of other clients.", what.subscriptions);
  out.counter("peer_acknowledged_total", "Subscriptions that were answered.", what.acknowledged);
  out.counter("peer_given_up_total", "Times that an address did not answer.", what.given_up);
  out.drops("peer_dropped_total", "Datagrams without effect.", what);
}

}  // namespace

std::string to_prometheus(const client_metrics& what, std::string_view prefix) {
  if (!is_name(prefix)) {
    throw error{errc::bad_option,
                "the prefix of metrics must consist of letters, digits, underscores and colons, and "
                "must not begin with a digit"};
  }
  writer out{prefix};
  write_client(out, what);
  if (what.peers) write_peers(out, *what.peers);
  write_locks(out, what.locks);
  return std::move(out).text();
}

}  // namespace latchkey
