// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A history read as calls, and as periods of ownership.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "history.hpp"

namespace chaos {

/// One call for a lock.
struct call {
  enum class outcome { none, refused, failed, missed, granted, queued, left };

  std::string who;
  int lock = -1;
  access how = access::exclusive;
  std::string manner;
  clock::time_point begin;
  clock::time_point end;  ///< when there is an outcome
  outcome what = outcome::none;
};

/// From the first to the last look that said held: a grant never comes back, so it was held all the time between.
struct period {
  std::string who;
  int lock = -1;
  access how = access::exclusive;
  latchkey::fencing_token token;
  clock::time_point called;   ///< when its call began, or that for its ticket
  clock::time_point granted;  ///< before the first look; of a reader that was a writer: when it began to become one
  clock::time_point seen;     ///< before the last look that said held
  /// The newest lease, and when it was looked at. Only the holder itself can end it earlier.
  clock::time_point valid_until;
  std::optional<clock::time_point> over;  ///< when the holder first knew: it saw the loss, or was about to unlock
  std::string loss;                       ///< the reason; empty: none
  /// When a writer began to become a reader: readers may come from then on, writers not.
  std::optional<clock::time_point> weakened;
  /// When somebody else perhaps ended it. Its holder may not hear of that before its lease is over.
  std::optional<clock::time_point> struck;

  /// When its node was deleted: by when its holder had heard of that, or was over. Unset: it may hear of it late.
  std::optional<clock::time_point> told;

  /// @returns whether no lease could keep others away at that time.
  bool excused(clock::time_point at) const { return struck && at >= *struck; }

  /// @returns whether it may have been in the way of others for this time.
  bool excused(clock::time_point from, clock::time_point to) const { return excused(from) && (!told || to <= *told); }

  /// @returns whether this one, while it lasts, keeps the later one away.
  bool keeps_out(const period& later) const {
    return excludes(how, later.how) && !(later.how == access::shared && weakened && later.granted >= *weakened);
  }
};

/// A place in the line of a fair lock, as far as it went.
struct place {
  std::string who;
  int lock = -1;
  clock::time_point begun;                   ///< when it was called for
  std::optional<clock::time_point> queued;   ///< by when it was taken
  std::optional<clock::time_point> granted;  ///< when that was first seen
};

/// @returns the calls in the order of their beginnings.
std::vector<call> calls_of(const history& all);

/// @returns the places in the line of each fair lock, in the order of their beginnings.
std::vector<place> places_of(const history& all);

/// @returns the periods of every lock, in the order of the grants: `result[lock]`.
/// @param deletion  for how long the owner of a deleted node may not know it, as long as nothing else is wrong
std::vector<std::vector<period>> periods_of(const history& all,
                                            clock::duration deletion = std::chrono::milliseconds{250});

/// @returns whether the fault is one of this process, or of the worker whose process it is.
bool strikes(const fault& what, std::string_view who) noexcept;

}  // namespace chaos
