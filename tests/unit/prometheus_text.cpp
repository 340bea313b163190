// SPDX-License-Identifier: Apache-2.0
// Prints the numbers of a made-up client in Prometheus' text format, for parse_prometheus.py and check_dashboards.py.

#include <latchkey/metrics.hpp>

#include <chrono>
#include <iostream>

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  latchkey::client_metrics told;
  told.connections = 2;
  told.request.buckets[2] = told.request.buckets[20] = 1;  // 3 us, 700 ms
  told.request.count = 2;
  told.request.sum = 700'003us;
  told.least_left = 2500ms;
  told.peers.emplace().bad_tag = 3;
  for (const auto* name : {"", "accounts", "a \"b\" \\ c\nd"}) {
    auto& locks = told.locks.emplace_back();
    locks.group = name;
    locks.granted = 5;
    locks.waiting = 1;
    locks.lost = {1, 2, 3, 4, 5};
    locks.wait.buckets.back() = 1;
    locks.wait.count = 1;
    locks.wait.sum = 24h;
  }
  std::cout << latchkey::to_prometheus(told, argc > 1 ? argv[1] : "app");
}
