// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which requests end the connections on which they are sent. Pure: the time is an argument.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <latchkey/export.hpp>

#include "base/repetition.hpp"
#include "bridge/znodes.hpp"

namespace latchkey::detail {

/// What a request has in common with the next attempt at the same: a contender has another name each time.
struct request_shape {
  std::uint64_t of = 0;   ///< its kind, and where its node is
  std::size_t bytes = 0;  ///< at least so many are sent

  bool operator==(const request_shape&) const = default;
};

LATCHKEY_EXPORT request_shape shape_of(const request& what) noexcept;

/// A server closes the connection of a client that sends more than `jute.maxbuffer`, and answers nothing. Its request is
/// sent again with the next connection, and so on for ever.
///
/// The largest request without an answer is blamed when a connection ends soon after it, and with it all that are as
/// large, unless one of that size has ever been answered. From the second time in a row on it is held back: until the
/// server has answered something else on the connection, which shows that both are well, and for a pause that grows.
/// After a few connections, so few that a lease outlasts them, it is refused; once a minute it may be tried again.
class suspects {
 public:
  static constexpr duration refused_for = std::chrono::minutes{1};
  static constexpr unsigned enough = 5;  ///< connections in a row

  bool empty() const noexcept { return all_.empty(); }
  /// @returns whether a request is held back for now: a sign of life of the server is wanted.
  bool holds_any() const noexcept {
    return std::any_of(all_.begin(), all_.end(), [](const auto& each) { return each.is_held(); });
  }

  void blame(const request_shape& whom, time_point now) {
    auto& what = suspect_for(whom);
    if (++what.connections < 2) return;
    const auto pause = what.attempts.next();
    what.refused = !pause;
    what.not_before = now + pause.value_or(refused_for);
  }
  /// It has been answered.
  void acquit(const request_shape& whom) {
    if (!all_.empty()) std::erase_if(all_, [&](const suspect& each) { return covers(each, whom); });
    largest_answered_ = std::max(largest_answered_, whom.bytes);
  }

  /// @returns when it may be sent, provided that the server has answered something; the past if that does not matter.
  time_point held_until(const request_shape& whom) const noexcept {
    const auto at = find(whom);
    return at != all_.end() && at->is_held() ? at->not_before : time_point::min();
  }
  /// @returns how many connections it has ended if it is not to be sent at all; zero otherwise.
  unsigned refused_after(const request_shape& whom, time_point now) const noexcept {
    const auto at = find(whom);
    return at != all_.end() && at->refused && now < at->not_before ? at->connections : 0;
  }

 private:
  static constexpr std::size_t most = 16;

  struct suspect {
    request_shape shape;
    unsigned connections = 0;
    repetition attempts{enough - 1};  // the first connection is not blamed on it alone
    time_point not_before{};
    bool refused = false;

    bool is_held() const noexcept { return connections >= 2 && !refused; }
  };

  bool is_for_its_size(const suspect& what) const noexcept { return what.shape.bytes > largest_answered_; }
  bool covers(const suspect& what, const request_shape& whom) const noexcept {
    return what.shape == whom || (is_for_its_size(what) && whom.bytes >= what.shape.bytes);
  }
  std::vector<suspect>::const_iterator find(const request_shape& whom) const noexcept {
    return std::find_if(all_.begin(), all_.end(), [&](const suspect& each) { return covers(each, whom); });
  }

  /// The limit may be lower than what was thought: a smaller request takes the place of one that is suspected for its
  /// size, and, unless that has been refused, its attempts.
  suspect& suspect_for(const request_shape& whom) {
    const auto known = find(whom);
    if (known != all_.end()) return all_[static_cast<std::size_t>(known - all_.begin())];
    const auto larger = std::find_if(all_.begin(), all_.end(), [&](const suspect& each) {
      return is_for_its_size(each) && whom.bytes > largest_answered_;
    });
    if (larger != all_.end()) {
      if (larger->refused) *larger = {};
      larger->shape = whom;
      return *larger;
    }
    if (all_.size() == most) all_.erase(all_.begin());
    return all_.emplace_back(suspect{whom});
  }

  std::vector<suspect> all_;
  std::size_t largest_answered_ = 0;
};

}  // namespace latchkey::detail
