// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One client on a simulated ensemble, for tests of the rules that the ensemble keeps.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "simulation/recording_client.hpp"

namespace latchkey::testing {

struct stage {
  explicit stage(fault_plan plan = {}, std::uint64_t seed = 1) : time{seed}, ensemble{time, plan}, client{ensemble} {
    REQUIRE(client.connect());
  }
  /// All servers have what is committed.
  void conclude() { time.run_for(std::chrono::milliseconds{100}); }

  simulation time;
  fake_ensemble ensemble;
  recording_client client;
};

/// With a path for nodes, which all servers have.
struct stage_with_queue : stage {
  explicit stage_with_queue(fault_plan plan = {}, std::uint64_t seed = 1) : stage{plan, seed} {
    ensemble.create("/q");
    conclude();
  }
  std::vector<std::string> queue() const { return ensemble.children("/q"); }
};

}  // namespace latchkey::testing
