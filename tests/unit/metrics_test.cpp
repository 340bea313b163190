// SPDX-License-Identifier: Apache-2.0
/// What a client counts, and how it is written for Prometheus.

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <latchkey/error.hpp>
#include <latchkey/metrics.hpp>

#include "session/metrics.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_SUITE("metrics") {
  TEST_CASE("a histogram counts each duration in the bucket of its power of two") {
    detail::durations all;
    for (const auto each : {0ns, 999ns, 1000ns, 1999ns, 2000ns, 4095us + 0ns, 4096us + 0ns}) all.add(each);
    const auto counted = all.snapshot();
    CHECK(counted.count == 7);
    CHECK(counted.sum == 8191us + 5998ns);
    CHECK(counted.buckets[0] == 2);   // below 1 us
    CHECK(counted.buckets[1] == 2);   // below 2 us
    CHECK(counted.buckets[2] == 1);   // below 4 us
    CHECK(counted.buckets[12] == 1);  // below 4096 us
    CHECK(counted.buckets[13] == 1);
  }

  TEST_CASE("the last bucket takes what is too long, and the first what would be below zero") {
    detail::durations all;
    all.add(24h * 365);
    all.add(-1ns);
    const auto counted = all.snapshot();
    CHECK(counted.buckets.back() == 1);
    CHECK(counted.buckets.front() == 1);
    CHECK(counted.quantile(0.5) == 1us);
    CHECK(counted.quantile(1) == std::chrono::nanoseconds::max());
  }

  TEST_CASE("a quantile is an upper bound, at most twice as large") {
    detail::durations all;
    CHECK(all.snapshot().quantile(0.5) == 0ns);
    for (int i = 1; i <= 1000; ++i) all.add(i * 10us);
    const auto counted = all.snapshot();
    for (const double q : {0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0}) {
      CAPTURE(q);
      const auto exact = std::chrono::duration<double, std::micro>{q * 10'000};
      const auto found = counted.quantile(q);
      CHECK(found >= exact);
      CHECK(found <= 2 * exact + 6us);
    }
    CHECK(counted.quantile(-1) == counted.quantile(0));
    CHECK(counted.quantile(2) == counted.quantile(1));
  }

  TEST_CASE("the least that was left of a lease is told for a minute, and for one more at most") {
    detail::metrics counts;
    detail::time_point now{1h};
    const auto least = [&] { return counts.snapshot(now).least_left; };
    CHECK(least() == std::nullopt);
    counts.lease_extended(5s, now);
    counts.lease_extended(2s, now);
    counts.lease_extended(3s, now);
    CHECK(least() == 2s);
    now += 61s;
    counts.lease_extended(4s, now);
    CHECK(least() == 2s);
    now += 60s;
    CHECK(least() == 4s);
    now += 60s;
    CHECK(least() == std::nullopt);
  }

  TEST_CASE("groups are told in the order of their names, each once") {
    detail::metrics counts;
    counts.group("b").refused = 1;
    counts.group("a").refused = 2;
    ++counts.group("b").refused;
    const auto locks = counts.snapshot({}).locks;
    REQUIRE(locks.size() == 2);
    CHECK(locks[0].group == "a");
    CHECK(locks[1].group == "b");
    CHECK(locks[1].refused == 2);
  }

  TEST_CASE("a group whose name no dashboard could show is refused") {
    detail::metrics counts;
    for (const auto& bad : {std::string(129, 'a'), std::string{"a\nb"}, std::string{"\xff"}}) {
      CHECK_THROWS_AS(counts.group(bad), error);
    }
    counts.group(std::string(128, 'a'));
    CHECK(counts.snapshot({}).locks.size() == 1);
  }

  TEST_CASE("for Prometheus, durations are seconds, buckets are cumulative, and counters end in _total") {
    client_metrics told;
    told.reads = 7;
    told.proof.buckets[2] = told.proof.buckets[3] = 1;
    told.proof.count = 2;
    told.proof.sum = 8us;
    told.least_left = 1500ms;
    auto& locks = told.locks.emplace_back();
    locks.group = "accounts";
    locks.granted = 3;
    locks.held = 1;
    locks.lost[static_cast<std::size_t>(loss_reason::node_deleted)] = 2;
    const auto text = to_prometheus(told);
    CAPTURE(text);
    CHECK(has_line(text, "# TYPE latchkey_reads_total counter"));
    CHECK(has_line(text, "latchkey_reads_total 7"));
    CHECK(has_line(text, "latchkey_proof_seconds_bucket{le=\"2e-06\"} 0"));
    CHECK(has_line(text, "latchkey_proof_seconds_bucket{le=\"4e-06\"} 1"));
    CHECK(has_line(text, "latchkey_proof_seconds_bucket{le=\"8e-06\"} 2"));
    CHECK(has_line(text, "latchkey_proof_seconds_bucket{le=\"+Inf\"} 2"));
    CHECK(has_line(text, "latchkey_proof_seconds_sum 8e-06"));
    CHECK(has_line(text, "latchkey_proof_seconds_count 2"));
    CHECK(has_line(text, "latchkey_lease_least_left_seconds 1.5"));
    CHECK(has_line(text, "latchkey_granted_total{group=\"accounts\"} 3"));
    CHECK(has_line(text, "latchkey_held{group=\"accounts\"} 1"));
    CHECK(has_line(text, "latchkey_lost_total{group=\"accounts\",reason=\"node deleted\"} 2"));
    CHECK(has_line(text, "latchkey_lost_total{group=\"accounts\",reason=\"session expired\"} 0"));
    CHECK(has_line(text, "latchkey_wait_seconds_bucket{group=\"accounts\",le=\"+Inf\"} 0"));
  }

  TEST_CASE("for Prometheus, what is not known is left out, and the names of groups are escaped") {
    client_metrics told;
    CHECK(to_prometheus(told).find("least_left") == std::string::npos);
    told.locks.emplace_back().group = "a\\b\"c\nd";
    CHECK(has_line(to_prometheus(told), "latchkey_waiting{group=\"a\\\\b\\\"c\\nd\"} 0"));
  }

  TEST_CASE("for Prometheus, a client with peers has the numbers of direct hand-off, and another one none") {
    client_metrics told;
    CHECK(to_prometheus(told).find("peer") == std::string::npos);
    told.peers = {.admitted = 1,
                  .subscriptions = 2,
                  .acknowledged = 3,
                  .given_up = 4,
                  .malformed = 5,
                  .unknown = 6,
                  .bad_tag = 7,
                  .stale = 8};
    const auto text = to_prometheus(told);
    CAPTURE(text);
    CHECK(has_line(text, "# TYPE latchkey_peer_admitted_total counter"));
    CHECK(has_line(text, "latchkey_peer_admitted_total 1"));
    CHECK(has_line(text, "latchkey_peer_subscriptions_total 2"));
    CHECK(has_line(text, "latchkey_peer_acknowledged_total 3"));
    CHECK(has_line(text, "latchkey_peer_given_up_total 4"));
    CHECK(has_line(text, "latchkey_peer_dropped_total{reason=\"malformed\"} 5"));
    CHECK(has_line(text, "latchkey_peer_dropped_total{reason=\"unknown\"} 6"));
    CHECK(has_line(text, "latchkey_peer_dropped_total{reason=\"bad tag\"} 7"));
    CHECK(has_line(text, "latchkey_peer_dropped_total{reason=\"stale\"} 8"));
  }

  TEST_CASE("another prefix is taken, and a bad one refused") {
    CHECK(has_line(to_prometheus({}, "app:locks_2"), "app:locks_2_reads_total 0"));
    for (const auto* bad : {"", "2nd", "a-b", "a b", "\xc3\xa9"}) {
      CAPTURE(bad);
      CHECK_THROWS_AS(to_prometheus({}, bad), error);
    }
  }
}

}  // namespace latchkey::testing
