// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A history in numbers, for people.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checker.hpp"
#include "history.hpp"

namespace chaos {

/// What is counted, and the numbers in words; the last of them is the verdict.
using facts = std::vector<std::pair<std::string_view, std::string>>;

/// @returns some twenty of them.
facts facts_of(const history& all, const std::vector<violation>& found, std::uint64_t seed);

/// @returns a line for each.
std::string text_of(const facts& all);

/// @returns a row of the table of REPORT.md, in Markdown.
std::string row_of_report(const facts& all);

/// @returns a row of the comparison there. @param name of the service
std::string row_of_comparison(std::string_view name, const facts& all);

}  // namespace chaos
