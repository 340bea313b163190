// SPDX-License-Identifier: Apache-2.0
#include "contestant.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace bench {

namespace {

route parse_route(const std::string& argument) {
  const auto equals = argument.find('=');
  if (equals == std::string::npos) throw std::invalid_argument{"not name=hosts: " + argument};
  route result{argument.substr(0, equals), {}};
  std::istringstream hosts{argument.substr(equals + 1)};
  for (std::string host; std::getline(hosts, host, ',');) result.hosts.push_back(host);
  if (result.hosts.empty()) throw std::invalid_argument{"no hosts: " + argument};
  return result;
}

figures obey(const std::string& line, const std::map<std::string, route>& routes,
             const std::map<std::string, workload>& workloads) {
  std::istringstream words{line};
  std::string command;
  std::string name;
  std::string way;
  double seconds = 0;
  if (!(words >> command >> name >> way >> seconds) || command != "run")
    throw std::invalid_argument{"unknown command: " + line};
  const auto what = workloads.find(name);
  if (what == workloads.end()) throw std::invalid_argument{"no such workload here: " + name};
  return what->second(routes.at(way), seconds);
}

}  // namespace

int serve(const std::vector<std::string>& arguments, const std::map<std::string, workload>& workloads) {
  std::map<std::string, route> routes;
  for (const auto& argument : arguments) {
    auto parsed = parse_route(argument);
    routes.insert_or_assign(parsed.name, parsed);
  }
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json answer;
    try {
      answer = obey(line, routes, workloads);
    } catch (const std::exception& error) {
      answer["error"] = error.what();
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

figures rate_of(double count, double seconds, double beyond) {
  return {{"count", count}, {"cycles", count + beyond}, {"seconds", seconds}, {"rate", count / seconds}};
}

double seconds_since(clock::time_point start) { return std::chrono::duration<double>{clock::now() - start}.count(); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace bench
