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

/// One fault after the other. The workers of two nemeses must not be the same.
class client_nemesis {
 public:
  /// @param from_outside whether sessions are ended and nodes deleted too, which no lease foresees
  client_nemesis(latchkey::testing::ensemble& servers, std::vector<worker_slot*> workers, fault_log& log,
                 std::uint64_t seed, bool from_outside);

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
  void kill_process(worker_slot& victim, const std::stop_token& stop);
  void black_hole_all(worker_slot& victim, const std::stop_token& stop);
  void expire_session(worker_slot& victim, const std::stop_token& stop);
  void delete_node(worker_slot& victim, const std::stop_token& stop);

  /// Half of the time one that holds a lock, if there is one.
  worker_slot& some_worker();
  latchkey::testing::opcode some_operation();
  void mend();

  latchkey::testing::ensemble& servers_;
  const std::vector<worker_slot*> workers_;
  fault_log& log_;
  dice dice_;
  std::vector<fault_of_worker> faults_;
};

}  // namespace chaos
