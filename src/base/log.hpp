// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Log lines on their way to the sink of the user.

#include <string_view>

#include <latchkey/log.hpp>

namespace latchkey::detail {

/// @returns whether anybody listens: what costs to be said need not be said otherwise.
bool log_enabled() noexcept;

/// From any thread. Never throws.
void log(log_level level, std::string_view line) noexcept;

}  // namespace latchkey::detail
