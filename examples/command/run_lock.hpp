// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The lock of `latchkey run`, whichever recipe it is of.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>

#include <latchkey/client.hpp>
#include <latchkey/guard.hpp>

#include "run.hpp"

namespace command {

struct run_lock {
  /// @param timeout nothing: for ever; zero: one try. @returns an empty guard if it was not taken
  std::function<latchkey::guard(std::optional<std::chrono::nanoseconds> timeout, std::stop_token stop)> take;
  /// @returns which of the paths is held, with `run_options::any`.
  std::function<std::optional<std::size_t>()> index = [] { return std::nullopt; };
};

/// @throws usage_error for options that contradict one another; latchkey::error
run_lock make_lock(latchkey::client& owner, const run_options& how);

}  // namespace command
