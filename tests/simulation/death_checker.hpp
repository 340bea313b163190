// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a history of robust locks must have been like. Pure.

#include <string>
#include <vector>

#include "simulation/history_checker.hpp"

namespace latchkey::testing {

/// Exactly those are told of a death who follow on it, until all is in order; and nobody is granted a robust lock before
/// the record names it.
void check_deaths(const history_log& log, std::vector<std::string>& found);

}  // namespace latchkey::testing
