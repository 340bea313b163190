// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What has changed in a queue from one look to the next.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <latchkey/queue_snapshot.hpp>
#include <latchkey/queue_view.hpp>

#include "show.hpp"

namespace command {

/// The contenders of one queue, and since when each is there.
class queue_changes {
 public:
  /// @returns whether one of the first `most` contenders has come since the last look, and is not known by `learn`.
  bool has_strangers(const latchkey::queue_sighting& seen, std::size_t most) const;
  /// Learns who the contenders are.
  void learn(const latchkey::queue_snapshot& read);

  /// @pre `seen.known`
  /// @returns those that have gone, then those that stayed and were let in, then those that have come: at the first
  /// look, those that are there.
  std::vector<queue_change> next(const latchkey::queue_sighting& seen, wall_time now);

 private:
  struct entry {
    latchkey::contender who;
    bool read = false;                 ///< otherwise only its node and mode are known
    std::optional<wall_time> since{};  ///< when it was seen to begin to wait, or to hold
    bool there = true;                 ///< in this look
  };

  entry entry_of(const latchkey::queue_place& place) const;

  std::map<std::string, latchkey::contender> read_;  // by the last snapshot
  std::map<std::string, entry> all_;
  bool begun_ = false;
};

}  // namespace command
