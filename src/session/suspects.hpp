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
/// The largest request without an answer is blamed when a connection ends soon after it. From the second time in a row
/// on it is held back: until the server has answered something else on the connection, which shows that both are well,
/// and for a pause that grows. After the last pause it is refused; once a minute it may be tried again.
class suspects {
 public:
  static constexpr duration refused_for = std::chrono::minutes{1};

  bool empty() const noexcept { return all_.empty(); }
  /// @returns whether a request is held back for now: a sign of life of the server is wanted.
  bool holds_any() const noexcept {
    return std::any_of(all_.begin(), all_.end(), [](const auto& each) { return each.is_held(); });
  }

  void blame(const request_shape& whom, time_point now) {
    auto at = find(whom);
    if (at == all_.end()) {
      if (all_.size() == most) all_.erase(all_.begin());
      at = all_.insert(all_.end(), suspect{whom});
    }
    if (++at->connections < 2) return;
    const auto pause = at->attempts.next();
    at->refused = !pause;
    at->not_before = now + pause.value_or(refused_for);
  }
  /// It has been answered.
  void acquit(const request_shape& whom) {
    std::erase_if(all_, [&](const suspect& each) { return each.shape == whom; });
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
    repetition attempts{};
    time_point not_before{};
    bool refused = false;

    bool is_held() const noexcept { return connections >= 2 && !refused; }
  };

  std::vector<suspect>::iterator find(const request_shape& whom) noexcept {
    return std::find_if(all_.begin(), all_.end(), [&](const suspect& each) { return each.shape == whom; });
  }
  std::vector<suspect>::const_iterator find(const request_shape& whom) const noexcept {
    return std::find_if(all_.begin(), all_.end(), [&](const suspect& each) { return each.shape == whom; });
  }

  std::vector<suspect> all_;
};

}  // namespace latchkey::detail
