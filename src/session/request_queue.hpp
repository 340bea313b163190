// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which request is sent next.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace latchkey::detail {

/// Who waits for a request.
enum class urgency : std::uint8_t {
  proof,       ///< the lease
  call,        ///< a lock: its calls, and those elsewhere that wait for a release
  background,  ///< no lock: it follows a leader, reads a queue, or asks whether a node is there
};

/// The requests that wait to be sent, and how many are under way. Each urgency is a queue of its own, first in first out,
/// and has a number of requests that may be under way; so none waits behind another urgency, and none is starved.
/// What `is_stale()` is taken out at the latest when the queue would have to grow: what its caller does not wait for
/// takes no more memory than what callers wait for.
template <class Request>
class request_queue {
 public:
  /// How many requests may be under way. A burst beyond what the C client's wake-up pipe holds makes it close its own
  /// socket (64 Ki, HAZARDS 6); this is far below, and a proof waits for no more than these at the server.
  static constexpr std::size_t most_calls = 960;
  static constexpr std::size_t most_background = 64;
  /// Of each urgency when answers are slow, so that a proof does not wait for many that the server takes long for.
  static constexpr std::size_t most_when_slow = 64;
  /// So many stale requests are kept at least.
  static constexpr std::size_t least_swept = 256;

  static constexpr std::size_t most(urgency how, bool slow = false) noexcept {
    if (how == urgency::proof) return std::numeric_limits<std::size_t>::max();
    if (slow) return most_when_slow;
    return how == urgency::call ? most_calls : most_background;
  }

  /// @param slow whether answers are slow
  /// @returns whether a request that comes now may be sent at once.
  bool may_send(urgency how, bool slow = false) const noexcept {
    return of(how).waiting.empty() && of(how).under_way < most(how, slow);
  }

  /// @returns those that were found stale, if any: they are not sent.
  std::vector<Request> put(urgency how, Request what) {
    auto& into = of(how);
    std::vector<Request> stale;
    if (into.waiting.size() >= into.sweep_at) stale = sweep(into);
    into.waiting.push_back(std::move(what));
    return stale;
  }

  /// @param may_go whether a request may be sent now; those of its urgency wait behind one that may not
  /// @returns the next one that may be sent, perhaps a stale one; nothing if there is none.
  template <class Predicate>
  std::optional<Request> take(Predicate may_go, bool slow = false) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      auto& from = lanes_[i];
      if (from.waiting.empty() || from.under_way >= most(static_cast<urgency>(i), slow)) continue;
      if (!may_go(std::as_const(from.waiting.front()))) continue;
      std::optional<Request> next{std::move(from.waiting.front())};
      from.waiting.pop_front();
      return next;
    }
    return std::nullopt;
  }

  void sent(urgency how) noexcept {
    ++of(how).under_way;
    ++under_way_;
  }
  void answered(urgency how) noexcept {
    --of(how).under_way;
    --under_way_;
  }

  /// @returns all that wait. Nothing is under way any more.
  std::vector<Request> clear() {
    std::vector<Request> all;
    for (auto& each : lanes_) {
      std::move(each.waiting.begin(), each.waiting.end(), std::back_inserter(all));
      each = {};
    }
    under_way_ = 0;
    return all;
  }

  std::size_t under_way() const noexcept { return under_way_; }
  std::size_t waiting() const noexcept {
    std::size_t all = 0;
    for (const auto& each : lanes_) all += each.waiting.size();
    return all;
  }
  bool empty() const noexcept { return under_way_ == 0 && waiting() == 0; }

 private:
  struct lane {
    std::deque<Request> waiting;
    std::size_t under_way = 0;
    std::size_t sweep_at = least_swept;
  };

  lane& of(urgency how) noexcept { return lanes_[static_cast<std::size_t>(how)]; }
  const lane& of(urgency how) const noexcept { return lanes_[static_cast<std::size_t>(how)]; }

  std::vector<Request> sweep(lane& from) {
    std::vector<Request> stale;
    std::deque<Request> wanted;
    for (auto& each : from.waiting) {
      if (each.is_stale()) {
        stale.push_back(std::move(each));
      } else {
        wanted.push_back(std::move(each));
      }
    }
    from.waiting = std::move(wanted);
    from.sweep_at = std::max(least_swept, 2 * from.waiting.size());
    return stale;
  }

  std::array<lane, 3> lanes_;
  std::size_t under_way_ = 0;
};

}  // namespace latchkey::detail
