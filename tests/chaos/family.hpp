// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The kinds of locks, and of grants.

#include <string>
#include <string_view>
#include <vector>

#include "dice.hpp"

namespace chaos {

enum class family {
  mutex,      ///< latchkey::mutex
  linger,     ///< latchkey::mutex that keeps its place for a while after an unlock
  reentrant,  ///< latchkey::reentrant_mutex
  robust,     ///< latchkey::robust_mutex
  fair,       ///< latchkey::fair_mutex, also through tickets
  shared,     ///< latchkey::shared_mutex, which lingers in some processes
  keyed,      ///< a key of a latchkey::keyed_mutex, which lingers in some processes
  election,   ///< latchkey::election, with the names of Curator's LeaderLatch
  group,      ///< latchkey::multi_lock: together with a lock that all groups share
  semaphore,  ///< latchkey::semaphore of one permit
  foreign,    ///< a lock of another library: it knows neither tokens nor leases
};

/// What a grant excludes.
enum class access {
  exclusive,  ///< everybody
  shared,     ///< those who are exclusive
};

constexpr bool excludes(access one, access another) noexcept {
  return one == access::exclusive || another == access::exclusive;
}

std::string_view to_string(family which) noexcept;
std::string_view to_string(access how) noexcept;

/// @throws std::invalid_argument for what `to_string` did not give
family parse_family(std::string_view text);
access parse_access(std::string_view text);

/// @returns what `text` names: "mutex,fair". @throws std::invalid_argument for anything else
std::vector<family> parse_families(std::string_view text);

/// @returns "mutex,fair".
std::string to_string(const std::vector<family>& some);

/// @returns all of latchkey.
std::vector<family> all_families();

/// @returns the families of so many locks: no family twice before each of them has had its turn.
std::vector<family> draw_families(std::vector<family> from, int locks, dice& chance);

}  // namespace chaos
