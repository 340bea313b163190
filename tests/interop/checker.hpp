// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What periods of ownership must not show.

#include <cstddef>
#include <string>
#include <vector>

#include "history.hpp"

namespace latchkey::testing {

/// @returns a sentence for each two owners that held at the same time and must not: one of them exclusive.
/// @param periods in the order of their grants
std::vector<std::string> overlaps(const std::vector<period>& periods);

/// @returns a sentence for each grant that overtook a node which was queued before: among two owners, one of them
/// exclusive, the node created first is granted first. A reader that was a writer has stood in line as the writer.
/// @param periods in the order of their grants
std::vector<std::string> overtakings(const std::vector<period>& periods);

/// @returns a sentence for each owner that began while others held all `permits` of a semaphore.
std::vector<std::string> excess(const std::vector<period>& periods, std::size_t permits);

/// @returns how many grants of readers came while another contender was reading.
std::size_t readers_together(const std::vector<period>& periods);

/// @returns how many sentences there are, and the first: empty, where all is well.
std::string first_of(const std::vector<std::string>& sentences);

/// Checks that no two owners overlap, and that nobody is overtaken.
void check(const history& seen);

}  // namespace latchkey::testing
