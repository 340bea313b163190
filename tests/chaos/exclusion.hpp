// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who may hold a lock beside whom, and with which token.

#include <vector>

#include "checker.hpp"
#include "periods.hpp"

namespace chaos {

/// Two grants that both said held at one time, and must not.
struct overlap {
  const period* before;
  const period* one;  ///< granted later
  clock::duration length;
};

/// @param of_lock the periods of one lock, in the order of the grants
/// @returns those that no fault excuses
std::vector<overlap> overlaps_of(const std::vector<period>& of_lock);

/// @param of_lock the periods of one lock, in the order of the grants
/// @returns where one of the rules overlap, lease and token is broken
std::vector<violation> check_exclusion(const std::vector<period>& of_lock, bool has_tokens);

}  // namespace chaos
