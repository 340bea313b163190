// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the scenes of the pictures have in common.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <latchkey/clock.hpp>
#include <latchkey/testing/ensemble.hpp>
#include <nlohmann/json.hpp>

namespace latchkey::testing {

using namespace std::chrono_literals;
using json = nlohmann::ordered_json;
using instant = boottime_clock::time_point;

inline constexpr auto patience = 30s;

template <class Condition>
void wait_for(const char* what, Condition holds) {
  const auto until = boottime_clock::now() + patience;
  while (!holds()) {
    if (boottime_clock::now() > until) throw std::runtime_error{std::string{"it never came to this: "} + what};
    std::this_thread::sleep_for(1ms);
  }
}

inline json header(const char* scene, const ensemble& servers, std::chrono::milliseconds timeout) {
  const auto version = servers.admin(0).srvr().version;
  return {{"command", std::string{"record_pictures "} + scene},
          {"zookeeper", version.substr(0, version.find_first_of("-,"))},
          {"servers", servers.size()},
          {"tick_ms", servers.options().tick.count()},
          {"session_timeout_ms", timeout.count()}};
}

/// What was seen, and when. From any thread.
class recording {
 public:
  void add(std::string what, json with = json::object(), instant at = boottime_clock::now()) {
    const std::lock_guard lock{mutex_};
    seen_.push_back({at, std::move(what), std::move(with)});
  }

  /// @returns all of it in order, in milliseconds after `zero`.
  json since(instant zero) {
    const std::lock_guard lock{mutex_};
    std::stable_sort(seen_.begin(), seen_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    json all = json::array();
    for (const auto& [at, what, with] : seen_) {
      json event{{"at_ms", in_ms(at - zero)}, {"what", what}};
      for (const auto& [key, value] : with.items()) {
        event[key] = key == "until" ? json(in_ms(instant{boottime_clock::duration{value}} - zero)) : value;
      }
      all.push_back(std::move(event));
    }
    return all;
  }

 private:
  struct sight {
    instant at;
    std::string what;
    json with;
  };

  static double in_ms(boottime_clock::duration time) {
    return static_cast<double>(std::chrono::round<std::chrono::microseconds>(time).count()) / 1000;
  }

  std::mutex mutex_;
  std::vector<sight> seen_;
};

/// Client 1 is stopped between the check of its grant and its write, until client 2 has written.
/// @param fenced whether the storage compares tokens. @param program the path of this program
json record_pause(bool fenced, const std::string& program);

/// A client of that scene, in a process of its own: speaks with the storage on its standard input and output.
int run_paused_client(const std::string& connect_string, std::chrono::milliseconds session_timeout,
                      const std::string& name);

}  // namespace latchkey::testing
