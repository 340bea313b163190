// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Hurts the servers, and the links between them.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include <latchkey/testing/ensemble.hpp>

#include "dice.hpp"
#include "fault_log.hpp"

namespace chaos {

class server_nemesis {
 public:
  server_nemesis(latchkey::testing::ensemble& servers, fault_log& log, std::uint64_t seed)
      : servers_{servers}, log_{log}, dice_{seed} {}

  /// One fault after the other, until `stop`. Then all is mended.
  void run(const std::stop_token& stop);

  /// Mends what a fault that went wrong has left. @throws cluster_error when that is impossible
  void restore();

 private:
  void strike(const std::stop_token& stop);
  void kill(const std::vector<std::size_t>& victims, std::chrono::milliseconds time, const std::stop_token& stop);
  void pause(const std::vector<std::size_t>& victims, std::chrono::milliseconds time, const std::stop_token& stop);
  void isolate(const std::vector<std::size_t>& victims, std::chrono::milliseconds time, const std::stop_token& stop);
  void hold_back(const std::vector<std::size_t>& victims, std::chrono::milliseconds time, const std::stop_token& stop);
  void stall_disk(const std::vector<std::size_t>& victims, std::chrono::milliseconds time, const std::stop_token& stop);
  void fill_disk(const std::vector<std::size_t>& victims, std::chrono::milliseconds time, const std::stop_token& stop);
  void restart_all(const std::stop_token& stop);

  /// @returns the leader, some followers (fewer than a majority), or a majority.
  std::vector<std::size_t> some_servers();
  std::string describe(const std::vector<std::size_t>& victims) const;

  latchkey::testing::ensemble& servers_;
  fault_log& log_;
  dice dice_;
};

}  // namespace chaos
