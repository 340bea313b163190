// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One worker after another, behind one proxy.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <latchkey/testing/child_process.hpp>
#include <latchkey/testing/proxy.hpp>

#include "dice.hpp"
#include "fault_log.hpp"
#include "worker.hpp"

namespace chaos {

/// "w2", whose processes are "w2.1", "w2.2", ..., each with a session timeout, turns and linger of its own. Not
/// thread-safe.
class worker_slot {
 public:
  /// @param how of all its processes; `name` is that of the slot, and what is drawn need not be there
  worker_slot(worker_options how, const std::vector<latchkey::testing::endpoint>& servers, fault_log& log);

  void start();
  void kill();
  /// Starts it again when it has ended by itself, and writes that down.
  void look_after();

  /// @returns whether the newest record of its process says that it holds a lock.
  bool holds() const;

  const std::string& name() const noexcept { return how_.name; }
  std::string process_name() const;
  /// Of the locks that it takes.
  const std::vector<family>& families() const noexcept { return how_.families; }
  std::chrono::milliseconds session_timeout() const noexcept { return how_.session_timeout; }
  /// By when no session of a killed process is left, if there is a quorum.
  clock::time_point sessions_over_at() const noexcept { return sessions_over_at_; }
  latchkey::testing::proxy& net() noexcept { return net_; }
  /// It ends when its input does. It only ever says "finished".
  latchkey::testing::child_process& process() noexcept { return process_; }

 private:
  void on_death();
  std::vector<std::string> own_command() const;
  std::vector<std::string> command_of_other() const;
  std::uint64_t seed() const noexcept { return how_.seed + 1'000 * static_cast<std::uint64_t>(count_); }

  worker_options how_;
  fault_log& log_;
  latchkey::testing::proxy net_;
  dice dice_;
  int count_ = 0;
  clock::time_point sessions_over_at_{};
  latchkey::testing::child_process process_;
};

}  // namespace chaos
