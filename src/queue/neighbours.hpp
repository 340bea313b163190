// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Tickets of one object that stand in the same queue.

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace latchkey::detail {

class ticket;

/// The tickets of one lock object, by their numbers. Of two that follow directly on one another the one ahead is all
/// that the one behind waits for: it needs neither list nor watch, and is woken without a request.
///
/// Numbers can be compared under one parent only; they begin again when it is deleted. A parent with a child is not
/// deleted: so a ticket may be compared with one whose node is there when the answer to its own create comes. With the
/// strand held; of one session.
class neighbours {
 public:
  /// @returns whether a node of ours is in the queue, or on its way: the next one may well have a neighbour.
  bool anybody() const noexcept { return creating_ != 0 || !by_number_.empty(); }

  void create_sent() noexcept { ++creating_; }
  void create_answered() noexcept { --creating_; }

  void enter(std::uint32_t number, ticket& who) { by_number_.emplace(number, &who); }

  /// @returns the ticket with this number; none when it is not ours, or has left.
  ticket* at(std::uint32_t number) const noexcept {
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : found->second;
  }

  void leave(std::uint32_t number, const ticket& who) {
    const auto found = by_number_.find(number);
    if (found != by_number_.end() && found->second == &who) by_number_.erase(found);
  }

  std::vector<ticket*> all() const {
    std::vector<ticket*> found;
    found.reserve(by_number_.size());
    for (const auto& [number, who] : by_number_) found.push_back(who);
    return found;
  }

  /// @returns the tickets there were; from here on none is known.
  std::vector<ticket*> forget_all() {
    auto were = all();
    by_number_.clear();
    return were;
  }

 private:
  std::size_t creating_ = 0;
  std::unordered_map<std::uint32_t, ticket*> by_number_;
};

}  // namespace latchkey::detail
