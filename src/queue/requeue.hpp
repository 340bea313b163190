// SPDX-License-Identifier: Apache-2.0
#pragma once

/// An entry that follows another one of the same object.

#include <cstdint>
#include <string>

#include <latchkey/fencing_token.hpp>

namespace latchkey::detail {

/// An entry that its owner has left, and whose node is kept for a moment (`reaper::remove_soon`): the next entry
/// deletes it together with its own create, in one transaction. See `queue_entry::requeue`.
struct kept_node {
  std::string node;
  fencing_token next;        // larger than those given out with it
  bool contended = false;    // it had to wait for other contenders
  std::string last;          // the name of the last contender behind when it was let in; empty: not known
  std::uint32_t behind = 0;  // how many contenders were behind
  std::uint32_t used = 0;    // numbers that its owner has used since for other children of the path
};

}  // namespace latchkey::detail
