// SPDX-License-Identifier: Apache-2.0
// The servers of one benchmark: an ensemble, one proxy that delays and one that counts, for as long as the input lasts.

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <latchkey/testing/ensemble.hpp>
#include <latchkey/testing/proxy.hpp>

namespace {

using namespace latchkey::testing;
using namespace std::chrono_literals;

/// As servers in production run, unlike those of the tests: with the whole of the compiler and some memory.
ensemble_options like_production() {
  ensemble_options options;
  options.servers = 3;
  options.jvm_args = {"-Xmx1g", "-XX:TieredStopAtLevel=4"};
  return options;
}

/// The followers first, the leader last.
std::vector<std::size_t> in_order(ensemble& servers) {
  const auto leader = servers.wait_for_leader(10s);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < servers.size(); ++i)
    if (i != leader) order.push_back(i);
  order.push_back(leader);
  return order;
}

/// What the servers themselves have counted: every request of every session, with pings and our own questions.
std::int64_t packets_received(const ensemble& servers) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < servers.size(); ++i) sum += servers.admin(i).mntr().packets_received;
  return sum;
}

int run() {
  ensemble servers{like_production()};
  proxy delayed{servers.addresses()};
  delayed.delay(1ms);
  const proxy counted{servers.addresses()};
  nlohmann::json hosts;
  for (const auto i : in_order(servers)) {
    hosts["direct"].push_back(servers.connect_string(i));
    hosts["delayed"].push_back(delayed.connect_string(i));
    hosts["counted"].push_back(counted.connect_string(i));
  }
  std::cout << hosts.dump() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json answer;
    if (line == "count") {
      answer = {{"requests", counted.requests()}, {"packets", packets_received(servers)}};
    } else {
      answer["error"] = "unknown command: " + line;
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::cerr << "bench_servers: " << error.what() << std::endl;
    return 1;
  }
}
