// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `latchkey run --restart`: one run after another.

#include <csignal>
#include <functional>

#include "run.hpp"

namespace command {

/// Calls `one` in a child process, again and again, until it is not to be repeated, or a signal wants it to end. Signals
/// are passed on to the child. It ends (SIGTERM) when this process has ended.
/// @pre this process has no threads
/// @returns the exit code; in a child that of its run
int run_again_and_again(const std::function<run_end()>& one, bool notify);

}  // namespace command
