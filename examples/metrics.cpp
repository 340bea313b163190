// SPDX-License-Identifier: Apache-2.0
// Serves the numbers of a client at /metrics, with prometheus-cpp. Without that library: serve the text of
// `latchkey::to_prometheus(client.metrics())`.

#include <latchkey/metrics.hpp>
#include <latchkey/mutex.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/text_serializer.h>

#include "with_connect_string.hpp"

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

double in_seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>{time}.count(); }

/// What a dashboard of locks shows first, and what to alarm on. The others are as easy.
class lock_numbers : public prometheus::Collectable {
 public:
  explicit lock_numbers(const latchkey::client& of) : of_{of} {}

  std::vector<MetricFamily> Collect() const override {
    const auto now = of_.metrics();
    MetricFamily granted{"latchkey_granted_total", "Grants.", MetricType::Counter, {}};
    MetricFamily waiting{"latchkey_waiting", "Calls that wait.", MetricType::Gauge, {}};
    MetricFamily lost{"latchkey_lost_total", "Grants that were lost.", MetricType::Counter, {}};
    MetricFamily wait{"latchkey_wait_seconds", "Time that granted calls have waited.", MetricType::Histogram, {}};
    for (const auto& each : now.locks) {
      add(granted, each.group).counter.value = static_cast<double>(each.granted);
      add(waiting, each.group).gauge.value = static_cast<double>(each.waiting);
      for (std::size_t i = 0; i < each.lost.size(); ++i) {
        auto& one = add(lost, each.group);
        one.label.push_back({"reason", std::string{to_string(static_cast<latchkey::loss_reason>(i))}});
        one.counter.value = static_cast<double>(each.lost[i]);
      }
      add(wait, each.group).histogram = translated(each.wait);
    }
    MetricFamily left{"latchkey_lease_least_left_seconds", "How near a lock was to its loss.", MetricType::Gauge, {}};
    if (now.least_left) left.metric.emplace_back().gauge.value = in_seconds(*now.least_left);
    return {granted, waiting, lost, wait, left};
  }

 private:
  static ClientMetric& add(MetricFamily& to, const std::string& group) {
    auto& one = to.metric.emplace_back();
    one.label.push_back({"group", group});
    return one;
  }

  static ClientMetric::Histogram translated(const latchkey::duration_histogram& from) {
    ClientMetric::Histogram result{from.count, in_seconds(from.sum), {}};
    std::uint64_t below = 0;
    for (std::size_t i = 0; i + 1 < from.buckets.size(); ++i) {
      below += from.buckets[i];
      result.bucket.push_back({below, in_seconds(std::chrono::microseconds{std::int64_t{1} << i})});
    }
    return result;
  }

  const latchkey::client& of_;
};

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string};
  const auto numbers = std::make_shared<lock_numbers>(client);
  prometheus::Exposer server{"127.0.0.1:0"};  // a service has a port of its own
  server.RegisterCollectable(numbers);
  std::cout << "http://127.0.0.1:" << server.GetListeningPorts().front() << "/metrics serves:\n";

  latchkey::mutex account{client, "/accounts/17", {.group = "accounts"}};
  account.acquire().release();
  const auto text = prometheus::TextSerializer{}.Serialize(numbers->Collect());
  std::cout << text;
  return text.find("latchkey_granted_total{group=\"accounts\"} 1") != std::string::npos;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
