// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `latchkey run` before it has its lock.

#include <memory>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/guard.hpp>

#include "connection.hpp"
#include "run.hpp"
#include "run_lock.hpp"
#include "run_loop.hpp"
#include "service_manager.hpp"

namespace command {

/// In the order in which they are made.
struct taken_lock {
  std::unique_ptr<latchkey::client> client;
  run_lock lock;
  latchkey::guard held;  ///< empty: it was not taken

  /// @pre held. @returns its path.
  const std::string& path(const run_options& how) const { return how.paths.at(lock.index().value_or(0)); }
};

/// Connects, and waits for the lock, on a thread of its own, so that this one hears signals. A signal that asks for the end
/// remains with `loop`. @throws usage_error, latchkey::error, std::runtime_error
void take_lock(const settings& with, const run_options& how, run_loop& loop, const service_manager& manager,
               taken_lock& into);

/// @returns a sentence; of several locks about the first that is held. @throws latchkey::error unreachable
std::string who_holds(latchkey::client& through, const run_options& how);

}  // namespace command
