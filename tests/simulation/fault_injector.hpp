// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Lets the faults of a plan happen.

#include <string>
#include <vector>

#include "simulation/fake_ensemble.hpp"

namespace latchkey::testing {

/// Runs the "now and then" of the ensemble's plan until the ensemble is healed; it must live until then.
class fault_injector {
 public:
  /// @param playground the paths below which operators and foreign clients interfere.
  fault_injector(fake_ensemble& ensemble, std::vector<std::string> playground);
  fault_injector(const fault_injector&) = delete;
  fault_injector& operator=(const fault_injector&) = delete;

  struct deletion {
    std::string node;
    time_point at;
  };

  /// An operator deletes a node below `path`, or all of it, and perhaps others take it over.
  void operate_on(const std::string& path);
  /// An operator deletes all of it, and others take it over: as many as there were before, so that numbers go on as
  /// they were; all but the first have left.
  void seize(const std::string& path);

  /// @returns the nodes that an operator has deleted.
  const std::vector<deletion>& deleted() const noexcept { return deleted_; }
  /// @returns the nodes of others who have created a path again, as the first there: they hold the lock.
  const std::vector<std::string>& takeovers() const noexcept { return takeovers_; }

 private:
  void every(duration fault_plan::*interval, void (fault_injector::*fault)());
  void reset();
  void open_hole();
  void cut();
  void hold_back();
  void stall();
  void elect();
  void pause();
  void reap() { ensemble_.reap(plan().reap_unused); }
  void operate() { operate_on(any_path()); }
  void remove(const std::string& node);
  bool remove_all(const std::string& path);
  void take_over(const std::string& path);
  void limit();
  void limit_requests();
  void intrude();
  void renegotiate();
  void lose();
  void demand_authentication() { ensemble_.demand_authentication(true); }
  void ask_to_release();
  std::vector<std::string> nodes(const std::string& path);
  std::string any_node(const std::string& path);

  fault_plan& plan() noexcept { return ensemble_.plan(); }
  random_source& random() noexcept { return ensemble_.time().random(); }
  fake_session* any_session();
  const std::string& any_path();

  fake_ensemble& ensemble_;
  const std::vector<std::string> playground_;
  std::vector<deletion> deleted_;
  std::vector<std::string> takeovers_;
};

}  // namespace latchkey::testing
