// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whether the processes of a run are in a control group, and what former runs have left in theirs.

#include <memory>

#include "cgroup.hpp"
#include "run.hpp"

namespace command {

/// Runs that were killed together with their guards have left processes that no lock covers. Those that are in a group are
/// killed, and waited for. @throws std::runtime_error if they go on
void end_left_runs(const run_options& how, left_groups which);

/// @returns nothing if the tree is not to be in one, or cannot be.
/// @throws usage_error, std::runtime_error if it must be, and cannot
std::unique_ptr<cgroup> make_cgroup(const run_options& how, bool verbose);

}  // namespace command
