// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Datagrams between simulated clients.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bridge/datagram_port.hpp"
#include "simulation/fault_plan.hpp"
#include "simulation/simulation.hpp"

namespace latchkey::testing {

/// What goes wrong with datagrams. Probabilities are per datagram.
struct datagram_plan {
  delay_range delay{std::chrono::microseconds{20}, std::chrono::milliseconds{1}};
  double lost = 0;
  double twice = 0;
  double replayed = 0;  ///< with it comes any earlier one, again
};

/// Delivers what ports send, later. It outlives its ports.
class fake_network {
 public:
  fake_network(simulation& time, const datagram_plan& plan) : time_{time}, plan_{plan} {}

  /// @param process whose pauses hold up what it receives
  /// @param held runs a callback with the monitor of the receiver held
  std::unique_ptr<detail::datagram_port> open(process_id process,
                                              std::function<void(const std::function<void()>&)> held);

  /// @returns whether its owner has said of the entry of this name that it is closed.
  bool released(std::string_view entry) const { return released_.contains(std::string{entry}); }
  /// @returns how many have been delivered.
  std::size_t delivered() const noexcept { return delivered_; }
  datagram_plan& plan() noexcept { return plan_; }
  /// Nothing is lost, late or repeated from now on.
  void calm_down() { plan_ = {}; }

 private:
  class port;
  struct datagram {
    std::string from;
    std::string to;
    std::string bytes;
  };

  void send(datagram what, time_point when);
  void deliver_later(const datagram& what, time_point sent);
  void deliver(const datagram& what);

  simulation& time_;
  datagram_plan plan_;
  std::unordered_map<std::string, port*> ports_;
  std::vector<datagram> sent_;
  std::unordered_set<std::string> released_;
  std::size_t opened_ = 0;
  std::size_t delivered_ = 0;
};

}  // namespace latchkey::testing
