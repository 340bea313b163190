// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A history to look at.

#include <filesystem>
#include <vector>

#include "checker.hpp"
#include "history.hpp"

namespace chaos {

/// Writes an SVG: a lane for each fiber of each worker, a bar for each grant, a band for each fault. Of a long history
/// with a violation, only the half minute before and after the first of them.
/// @throws std::runtime_error when the file cannot be written
void draw(const history& all, const std::vector<violation>& found, const std::filesystem::path& file);

}  // namespace chaos
