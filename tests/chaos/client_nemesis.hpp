// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Hurts the workers, and their links to the servers.

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include <latchkey/testing/ensemble.hpp>

#include "dice.hpp"
#include "fault_log.hpp"
#include "worker_slot.hpp"

namespace chaos {

/// What a nemesis does.
enum class repertoire {
  usual,
  and_expiries,  ///< sessions are ended from outside too, which no lease foresees
  of_operator,   ///< nodes and paths are deleted, and all else is well
  common,        ///< what can be done to the clients of every lock service
};

/// One fault after the other. The workers of two nemeses must not be the same.
class client_nemesis {
 public:
  /// @param servers where their locks are; none: nothing is done to nodes and sessions
  client_nemesis(latchkey::testing::ensemble* servers, std::vector<worker_slot*> workers, fault_log& log,
                 std::uint64_t seed, repertoire what);

  /// Until `stop`. Then all is mended.
  void run(const std::stop_token& stop);

 private:
  using fault_of_worker = void (client_nemesis::*)(worker_slot&, const std::stop_token&);

  void cut(worker_slot& victim, const std::stop_token& stop);
  void black_hole(worker_slot& victim, const std::stop_token& stop);
  void lose_server(worker_slot& victim, const std::stop_token& stop);
  void disconnect(worker_slot& victim, const std::stop_token& stop);
  void delay(worker_slot& victim, const std::stop_token& stop);
  void lose_request(worker_slot& victim, const std::stop_token& stop);
  void lose_reply(worker_slot& victim, const std::stop_token& stop);
  void hold_reply(worker_slot& victim, const std::stop_token& stop);
  void stop_process(worker_slot& victim, const std::stop_token& stop);
  void starve_process(worker_slot& victim, const std::stop_token& stop);
  void kill_process(worker_slot& victim, const std::stop_token& stop);
  void set_clock(worker_slot& victim, const std::stop_token& stop);
  void black_hole_all(worker_slot& victim, const std::stop_token& stop);
  void expire_session(worker_slot& victim, const std::stop_token& stop);
  // Of an operator: operator_faults.cpp.
  void delete_node(worker_slot& victim, const std::stop_token& stop);
  void delete_path(worker_slot& victim, const std::stop_token& stop);

  /// Half of the time one that holds a lock, if there is one.
  worker_slot& some_worker();
  latchkey::testing::opcode some_operation();
  int some_lock(const worker_slot& victim);
  void mend();

  latchkey::testing::ensemble* const servers_;
  const std::vector<worker_slot*> workers_;
  fault_log& log_;
  dice dice_;
  std::chrono::milliseconds longest_pause_{2'500};
  std::vector<fault_of_worker> faults_;
};

}  // namespace chaos
