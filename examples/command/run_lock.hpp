// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The lock of `latchkey run`, whichever recipe it is of.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/guard.hpp>

#include "run.hpp"

namespace command {

struct run_lock {
  /// @param timeout nothing: for ever; zero: one try. @returns an empty guard if it was not taken
  std::function<latchkey::guard(std::optional<std::chrono::nanoseconds> timeout, std::stop_token stop)> take;
  /// @returns which of the paths is held, with `run_options::any`.
  std::function<std::optional<std::size_t>()> index = [] { return std::nullopt; };
  /// @returns who has died with it, as JSON, with `run_options::robust`.
  std::function<std::optional<std::string>()> abandoned = [] { return std::nullopt; };
  /// Before the guard is released: whether the command has done its work.
  std::function<void(bool in_order)> conclude = [](bool) {};
};

/// @throws usage_error for options that contradict one another; latchkey::error
run_lock make_lock(latchkey::client& owner, const run_options& how);

}  // namespace command
