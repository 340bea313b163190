// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the checker of histories says, for its own tests.

#include <string_view>

#include "simulation/history_checker.hpp"

namespace latchkey::testing {

/// @returns whether that is the one complaint.
inline bool complains(const history_log& log, std::string_view about) {
  const auto found = violations(log);
  return found.size() == 1 && found[0].starts_with(about);
}

}  // namespace latchkey::testing
