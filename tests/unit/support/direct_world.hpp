// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Three clients that hand off directly, for tests of exact situations.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "queue/grant_state.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {

inline client_options four_seconds() {
  client_options options;
  options.session_timeout = std::chrono::seconds{4};
  return options;
}

/// Three clients with ports, and a lock of each.
struct direct_world {
  simulation time;
  fake_ensemble ensemble{time};
  fake_network network{time, {}};
  simulated_client one{ensemble, four_seconds(), {}, &network};
  simulated_client two{ensemble, four_seconds(), {}, &network};
  simulated_client three{ensemble, four_seconds(), {}, &network};
  std::optional<simulated_lock> ann;
  std::optional<simulated_lock> ben;
  std::optional<simulated_lock> cay;

  explicit direct_world(lock_settings of = {.how = hand_off::direct}) : direct_world{of, of} {}
  direct_world(lock_settings of_ann, lock_settings of_others, std::uint64_t seed = 1) : time{seed} {
    for (auto* each : {&one, &two, &three}) each->connect();
    ann.emplace(one, "/q", of_ann);
    ben.emplace(two, "/q", of_others);
    cay.emplace(three, "/q", of_others);
  }

  ~direct_world() {
    for (auto* each : {&ann, &ben, &cay}) (*each)->shut();
    conclude(time, {&one, &two, &three});
  }
  direct_world(const direct_world&) = delete;
  direct_world& operator=(const direct_world&) = delete;

  bool eventually(const std::function<bool()>& what, duration within = std::chrono::minutes{1}) {
    return time.run_until(what, time.now() + within);
  }
  bool ends(const simulated_lock::call& call, duration within = std::chrono::minutes{1}) {
    return eventually([&] { return call->what != outcome::waiting; }, within) && call->what == outcome::granted;
  }
  simulated_lock::call queue(simulated_lock& who) {
    const auto before = ensemble.children("/q").size();
    auto call = who.enter(1, contender_kind::lock);
    CHECK(eventually([&] { return ensemble.children("/q").size() == before + 1; }));
    time.run_for(std::chrono::milliseconds{100});
    return call;
  }
  grant take(simulated_lock& who) {
    REQUIRE(ends(who.enter(1, contender_kind::lock)));
    time.run_for(std::chrono::milliseconds{100});
    return who.current(1, contender_kind::lock);
  }
  /// @returns the node of the last in line.
  std::string last_node() {
    const auto number = [](const std::string& name) { return name.substr(name.size() - 10); };
    const auto names = ensemble.children("/q");
    return "/q/" + *std::max_element(names.begin(), names.end(),
                                     [&](const auto& a, const auto& b) { return number(a) < number(b); });
  }
  const fake_server& server_of(simulated_client& of) { return *of.connector().latest()->server(); }
  std::string node(simulated_lock& of) { return detail::grant_state::of(of.current(1, contender_kind::lock))->node(); }
};

inline const lock_settings fair{.family = lock_family::fair, .how = hand_off::direct};
inline const lock_settings turns{.how = hand_off::direct};

}  // namespace latchkey::testing
