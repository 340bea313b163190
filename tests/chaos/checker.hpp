// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a history must have been like. Pure: it reads what was written down.

#include <chrono>
#include <string>
#include <vector>

#include "history.hpp"

namespace chaos {

struct limits {
  std::chrono::milliseconds recovery{
      15'000};                               ///< after a fault, in peace, for a lock that is wanted to be granted again
  std::chrono::milliseconds overdue{3'000};  ///< for a call with a timeout to return after that
  /// For the owner of a deleted node to know it, when nothing else is wrong: 10 ms until it watches its node, a round
  /// trip, and what a busy machine of two cores takes to run the right threads of a server and of two processes.
  std::chrono::milliseconds deletion{250};
};

enum class rule {
  overlap,     ///< two holders, not both of them readers, saw that they hold the lock, at one time
  lease,       ///< somebody was granted the lock while the lease of the holder before, who was not looking, went on
  token,       ///< a grant has not a larger token than every grant before it; of reader and writer: a smaller one
  store,       ///< the store refused a write of the holder
  order,       ///< of two callers of one lock object, or in line for a fair lock, the later one was first
  reentry,     ///< who took the lock once more got another grant
  timeout,     ///< a call came back too late
  unanswered,  ///< a call never came back, though its process went on to its end
  recovery,    ///< a lock was not granted again soon enough
  told_early,  ///< a stop callback ran while the grant still said that the lock is held
  failure,     ///< something was reported that should not happen
};

std::string_view to_string(rule which) noexcept;

struct violation {
  rule which{};
  clock::time_point at;
  std::string text;
};

/// @returns what is wrong with a history, by time; nothing for a good one.
std::vector<violation> check(const history& all, const limits& most = {});

}  // namespace chaos
