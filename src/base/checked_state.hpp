// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The state of an object, checked against a table.

#include <array>
#include <cassert>
#include <cstddef>

namespace latchkey::detail {

/// Whether one state may follow another: `[from][to]`.
template <std::size_t States>
using transitions = std::array<std::array<bool, States>, States>;

/// A state that only becomes what `may_follow`, a table of `transitions`, allows.
template <class State, const auto& may_follow>
class checked_state {
 public:
  constexpr checked_state(State first) noexcept : now_{first} {}
  checked_state& operator=(State next) noexcept {
    assert(may_follow[static_cast<std::size_t>(now_)][static_cast<std::size_t>(next)]);
    now_ = next;
    return *this;
  }
  constexpr operator State() const noexcept { return now_; }

 private:
  State now_;
};

}  // namespace latchkey::detail
