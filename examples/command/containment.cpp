// SPDX-License-Identifier: Apache-2.0
#include "containment.hpp"

#include <chrono>
#include <iostream>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "exit_code.hpp"
#include "show.hpp"

namespace command {
namespace {

/// A process that is killed ends within milliseconds, or is in an uninterruptible system call.
constexpr std::chrono::milliseconds patience_with_the_killed = std::chrono::seconds{10};

}  // namespace

void end_left_runs(const run_options& how, left_groups which) {
  if (how.where == containment::tree) return;
  const auto left = end_left_cgroups(how.paths, which, patience_with_the_killed);
  if (left.empty()) return;
  throw std::runtime_error{fmt::format(
      "processes of a former run go on though they were killed: see cgroup.procs in {}", fmt::join(left, ", "))};
}

std::unique_ptr<cgroup> make_cgroup(const run_options& how, bool verbose) {
  const bool left_alone = how.rest == leftover::leave;
  const bool wanted = how.where == containment::cgroup;
  if (wanted && left_alone) {
    throw usage_error{"a control group ends with its run, so --leftover=leave excludes --contain=cgroup"};
  }
  if (how.where == containment::tree || left_alone) return nullptr;
  try {
    return std::make_unique<cgroup>(how.paths);
  } catch (const no_cgroup& why) {
    if (wanted) throw std::runtime_error{fmt::format("--contain=cgroup: {}", why.what())};
    if (verbose) std::cerr << "latchkey: the command is in no control group: " << printable(why.what()) << '\n';
    return nullptr;
  }
}

}  // namespace command
