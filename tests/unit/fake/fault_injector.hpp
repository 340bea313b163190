// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Lets the faults of a plan happen.

#include <string>
#include <vector>

#include "fake/fake_ensemble.hpp"

namespace latchkey::testing {

/// Runs the "now and then" of the ensemble's plan until the ensemble is healed; it must live until then.
class fault_injector {
 public:
  /// @param playground the paths below which operators and foreign clients interfere.
  fault_injector(fake_ensemble& ensemble, std::vector<std::string> playground);
  fault_injector(const fault_injector&) = delete;
  fault_injector& operator=(const fault_injector&) = delete;

  /// @returns the nodes that an operator has deleted.
  const std::vector<std::string>& deleted() const noexcept { return deleted_; }

 private:
  void every(duration fault_plan::*interval, void (fault_injector::*fault)());
  void reset();
  void open_hole();
  void cut();
  void elect();
  void pause();
  void reap() { ensemble_.reap(plan().reap_unused); }
  void operate();
  void intrude();
  void revoke();
  std::string any_node();

  fault_plan& plan() noexcept { return ensemble_.plan(); }
  random_source& random() noexcept { return ensemble_.time().random(); }
  fake_session* any_session();
  const std::string& any_path();

  fake_ensemble& ensemble_;
  const std::vector<std::string> playground_;
  std::vector<std::string> deleted_;
};

}  // namespace latchkey::testing
