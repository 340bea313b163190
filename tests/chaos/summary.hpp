// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A history in numbers, for people.

#include <string>
#include <vector>

#include "checker.hpp"
#include "history.hpp"

namespace chaos {

/// @returns some twenty lines; the last of them is the verdict.
std::string summarise(const history& all, const std::vector<violation>& found, std::uint64_t seed);

/// @returns a row of the table of REPORT.md, in Markdown.
std::string row_of_report(const history& all, const std::vector<violation>& found, std::uint64_t seed);

}  // namespace chaos
