// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The liveness clock of a session. Pure: the time is an argument.

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/deadline.hpp"

namespace latchkey::detail {

/// Until when the grants of one stretch of a session's life are valid; read from any thread.
/// Once it has been seen in the past it is over for good: no proof revives it.
class pulse {
 public:
  /// @returns whether grants are valid at `now`.
  bool alive(time_point now) noexcept {
    auto until = until_.load(std::memory_order_acquire);
    while (now >= time_point{duration{until}}) {
      if (until == over || until_.compare_exchange_weak(until, over, std::memory_order_acq_rel)) return false;
    }
    return true;
  }

  time_point valid_until() const noexcept { return time_point{duration{until_.load(std::memory_order_acquire)}}; }

  void stop() noexcept { until_.store(over, std::memory_order_release); }

  /// Moves the end on, never back. @returns false when it is over.
  bool extend(time_point until) noexcept {
    const auto wanted = until.time_since_epoch().count();
    auto current = until_.load(std::memory_order_acquire);
    while (current != over && current < wanted) {
      if (until_.compare_exchange_weak(current, wanted, std::memory_order_acq_rel)) return true;
    }
    return current != over;
  }

 private:
  static constexpr duration::rep over = duration::min().count();
  std::atomic<duration::rep> until_{0};
};

/// What follows from proofs, with the negotiated session timeout T.
///
/// The ensemble expires a session T after the *leader* last heard of it. A follower tells its leader every half tick
/// (at most T/4, as the least session timeout is two ticks) which sessions have sent something; a forwarded write does
/// not count by itself. So an acknowledged write that was sent at `s` proves that the session lived at `s`, but the
/// leader may have to reckon from an earlier time. Two rules say from which:
///
/// 1. Two proofs. The leader knows of the first by the time that the second, sent T/4 after the first was answered, is
///    acknowledged: what a follower sends to its leader stays in order. The session then lives until `first.sent + T`,
///    whatever becomes of the connection; T/12 of that is left to clocks that run at different speeds.
/// 2. One proof. The C client pings every T/3 when it is idle. Of pings 0 and T/3 with half ticks of T/4, the leader
/// may
///    know only the first when a write is acknowledged just before T/2: the session lives until `sent + T/2` at least,
///    less T/12 for jitter. This rests on the pings: it does not count when this process has been stopped shortly
///    before. What stays open is a network that has held packets back shortly before without losing the connection, and
///    a server that is cut off from its quorum within half a tick of the proof: up to T/3 too long
///    (tests/unit/fake/liveness_hunt_test.cpp).
///
/// A holder proves every T/4, and so lives by the first rule from its second proof on; the second covers the beginning.
class liveness_clock {
 public:
  /// The session has just connected for the first time, and the leader knows.
  void begin(duration session_timeout, time_point now) noexcept {
    *this = {};
    timeout_ = session_timeout;
    next_beat_ = now + beat_interval();
  }

  /// To be called every `beat_interval()`: notices when this process was stopped, and its pings with it.
  void beat(time_point now) noexcept {
    if (now > next_beat_ + beat_interval()) unsteady_until_ = now + timeout_ / 3;
    next_beat_ = now + beat_interval();
  }

  /// A quorum operation sent at `sent` was acknowledged at `now`.
  void proved(time_point sent, time_point now) noexcept {
    if (now > next_beat_ + beat_interval()) beat(now);
    if (candidate_ && sent >= candidate_->answered + timeout_ / 4) {
      known_to_leader_ = std::max(known_to_leader_, candidate_->sent);
      candidate_.reset();
    }
    if (!candidate_) candidate_ = proof{sent, now};
    if (sent >= unsteady_until_) newest_ = std::max(newest_, sent);
  }

  /// @returns until when a grant is valid.
  time_point valid_until() const noexcept {
    return std::max(after(known_to_leader_, timeout_ * 11 / 12), after(newest_, timeout_ * 5 / 12));
  }

  /// @returns when a holder should begin to worry: a proof is overdue.
  time_point suspect_at() const noexcept { return after(valid_until(), -timeout_ / 12); }

  /// @returns whether a grant that arrives at `now` needs no proof of its own.
  bool fresh(time_point now) const noexcept { return valid_until() > now + timeout_ / 4; }

  /// @returns how long to wait before a proof makes a grant fresh: only after this process has been stopped.
  duration wait_before_proof(time_point now) const noexcept {
    if (now >= unsteady_until_ || !candidate_) return {};
    return std::max(duration{}, std::min(candidate_->answered + timeout_ / 4, unsteady_until_) - now);
  }

  duration proof_interval() const noexcept { return timeout_ / 4; }

  /// @returns by when the next proof must be on its way, so that one that is stuck, and freed when it is T/8 old, still
  /// comes in time.
  time_point prove_by() const noexcept { return after(valid_until(), -timeout_ / 7); }
  duration beat_interval() const noexcept { return timeout_ / 16; }

 private:
  struct proof {
    time_point sent;
    time_point answered;
  };

  static constexpr time_point unknown = time_point::min();
  static time_point after(time_point from, duration time) noexcept { return from == unknown ? unknown : from + time; }

  duration timeout_{};
  time_point newest_ = unknown;           // proof by the second rule
  time_point known_to_leader_ = unknown;  // by the first
  std::optional<proof> candidate_;        // for the first
  time_point next_beat_{};
  time_point unsteady_until_ = unknown;
};

}  // namespace latchkey::detail
