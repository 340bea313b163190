// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Hurts the servers, and the links between them.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "dice.hpp"
#include "fault_log.hpp"
#include "lock_servers.hpp"

namespace chaos {

class server_nemesis {
 public:
  /// @param common only what can be done to the servers of every lock service
  server_nemesis(lock_servers& servers, fault_log& log, std::uint64_t seed, bool common)
      : servers_{servers}, zookeeper_{common ? nullptr : servers.zookeeper()}, log_{log}, dice_{seed} {}

  /// One fault after the other, until `stop`. Then all is mended.
  void run(const std::stop_token& stop);

  /// Mends what a fault that went wrong has left: starts all anew. @throws cluster_error when that is impossible
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

  lock_servers& servers_;
  latchkey::testing::ensemble* const zookeeper_;  // if more may be done to it
  fault_log& log_;
  dice dice_;
};

}  // namespace chaos
