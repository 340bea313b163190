// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The contenders among the children of a path, for those who look at a queue from outside.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/queue_snapshot.hpp>

#include "recipes/rules.hpp"

namespace latchkey::detail {

contender::kind public_kind(contender_kind kind) noexcept;

/// The folders of a semaphore, as they begin the names in them.
inline constexpr std::string_view permit_folder = "leases/";
inline constexpr std::string_view turns_folder = "locks/";

struct candidate {
  position place;
  std::string name;  ///< with its folder
};

/// @param name with its folder. @returns its position, if it is that of a contender: leases are in their folder only.
std::optional<position> place_of(std::string_view name);

/// @param folder of a semaphore; empty for other locks
/// @returns the contenders among the children, in the order of the queue.
std::vector<candidate> in_order(const std::vector<std::string>& children, std::string_view folder = {});

/// Who holds the lock: the first of the queue; if that reads, the readers behind it, too.
class turns_of_queue {
 public:
  /// @returns whether the next one in the queue holds the lock.
  bool next(const candidate& who) noexcept;

 private:
  bool first_ = true;
  bool open_ = true;  // so far all read
};

}  // namespace latchkey::detail
