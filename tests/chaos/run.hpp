// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A run: an ensemble, workers, nemeses, and what is left at the end.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checker.hpp"
#include "family.hpp"

namespace chaos {

struct run_options {
  std::uint64_t seed = 1;
  std::chrono::seconds duration{45};  ///< of the storms of faults, with the peace between them
  std::size_t servers = 3;
  int workers = 5;
  int threads = 2;  ///< of each worker
  int fibers = 2;   ///< on each thread
  int locks = 4;
  std::vector<family> families = all_families();  ///< to draw those of the locks from
  bool from_outside = false;                      ///< faults that no lease can foresee too
  bool common = false;                            ///< only faults that there are for every lock service
  std::vector<std::string> program;               ///< workers of another library; empty: this program
  std::vector<std::string> service;               ///< servers of another service; empty: ZooKeeper
  bool log = false;                               ///< what the library says, into the folder
  std::filesystem::path folder;
};

/// Blocks until all is over; the history is in the folder then. @throws cluster_error when there is no ensemble
void run_chaos(const run_options& how);

/// @returns what a history of this program must keep to.
limits default_limits() noexcept;

/// How much slower everything is than without sanitizers.
int slowdown() noexcept;

}  // namespace chaos
