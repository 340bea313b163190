// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `latchkey deadlocks`: sessions that wait for one another, as seen from outside.

#include <cstdint>
#include <string>
#include <vector>

#include "show.hpp"

namespace command {

/// A contender, and where.
struct place_of {
  std::string path;
  latchkey::contender who;
};

/// A session that waits for others of its circle.
struct waiting_session {
  std::int64_t id = 0;
  std::vector<place_of> holds;  ///< what others of the circle wait for
  std::vector<place_of> waits;
};

/// Sessions of which each waits for another.
using circle = std::vector<waiting_session>;

/// What waits, and for what, in all queues below a path. A session waits for the sessions of all places that stand in
/// the way of one of its own: for a writer and a plain lock all ahead of it, for a reader those ahead that do not read.
/// A permit is waited for from any of those who have one: so only when all of them wait.
///
/// Places of one session do not stand in each other's way here: it has many threads. For the same reason a circle is a
/// possible deadlock: the thread that holds need not be the one that waits.
std::vector<circle> circles_of(const std::vector<queue>& all);

/// @returns of each queue of `now` the contenders that were there in `before`, too, and waited or held as now.
std::vector<queue> unchanged(const std::vector<queue>& before, std::vector<queue> now);

std::string text_of(const std::vector<circle>& all, wall_time now);
std::string json_of(const circle& one);

}  // namespace command
