// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What must be true of a tour, whatever happened on the way.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "event.hpp"

namespace tour {

struct summary {
  std::size_t grants = 0;
  std::size_t overlaps = 0;          ///< two holders at the same time, not both of them readers
  std::size_t tokens_backwards = 0;  ///< a later grant with a token that is not larger
  std::size_t accepted = 0;
  std::size_t refused = 0;
  std::size_t lost = 0;
  std::size_t readers_at_once = 0;  ///< of the read-write lock, at most
  std::size_t handed_over = 0;      ///< lost grants that were followed by a grant of another process
  std::chrono::milliseconds longest_wait{};
  std::string who_waited_longest;
  std::vector<std::string> complaints;  ///< why this tour is a failure; empty: it is none
};

/// A grant lasted from the first to the last time that its holder saw `bool(grant)` true, on a clock that the processes
/// share: where two such intervals overlap, two processes have held the lock at once.
summary summarise(const std::vector<event>& events);

/// For people.
std::string to_text(const summary& result);

}  // namespace tour
