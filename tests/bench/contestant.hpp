// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every contestant written in C++ shares: the commands it obeys, and the clock.

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

/// What a run has measured, by name: "count", "rate", "median_ns", ...
using figures = std::map<std::string, double>;

/// A way to the servers, "direct" or through a proxy. Session i of whoever runs goes to `hosts[i % size]`: the same
/// server for every contestant, since a leader answers sooner than a follower.
struct route {
  std::string name;
  std::vector<std::string> hosts;

  const std::string& host(std::size_t session) const { return hosts[session % hosts.size()]; }
};

/// One workload: runs for about so many seconds.
using workload = std::function<figures(const route& to, double seconds)>;

/// Obeys `run <workload> <route> <seconds>` on the standard input, a line each, and answers each with one line of JSON:
/// the figures, or {"error": "..."}. Ends with its input.
/// @param arguments `name=host:port,host:port`, one for each route
int serve(const std::vector<std::string>& arguments, const std::map<std::string, workload>& workloads);

/// @returns count, and rate: per second.
/// @param beyond how many cycles more there were before all had stopped; of the requests they have their share
figures rate_of(double count, double seconds, double beyond = 0);

double seconds_since(clock::time_point start);

/// @returns the middle one; 0 of none.
double median(std::vector<double> values);

}  // namespace bench
