// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Until when the session is known to live, and what that is derived from. Pure: the time is an argument.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.hpp"

namespace latchkey::detail {

/// How far the answer to a request has come.
enum class evidence : std::uint8_t {
  heard,      ///< from our server: any answer
  relayed,    ///< from the leader, through our server: a sync
  committed,  ///< from a quorum: a write
};

/// Parameters of the lease arithmetic. The leader's pings may be late by the ping gap, less half a tick:
///
/// | T in ticks                | 4/3   | 2    | 3   | 4   | 5      | 10     |
/// |---------------------------|-------|------|-----|-----|--------|--------|
/// | late, with `server_tick`  | T/24  | T/6  | T/4 | T/6 | 0.19 T | 0.24 T |
/// | late, without             | never | T/24 | T/8 | T/6 | 0.19 T | 0.24 T |
/// | seconds, with a tick of 2 | 0.1   | 0.7  | 1.5 | 1.3 | 1.9    | 4.8    |
///
/// T/12 more, which is left to clocks, is not counted. A client that knows T to be shorter than four ticks waits longer
/// for a ping: a lease is less long then, and is proved twice as often.
struct session_timing {
  duration timeout{};           ///< T, as negotiated
  duration server_tick{};       ///< of the ensemble; zero: not longer than T/2, as ZooKeeper's default guarantees
  bool trusts_network = false;  ///< see `liveness_clock`

  /// @returns how long after an answer a sync must be sent to prove that the leader has pinged our server meanwhile.
  duration ping_gap() const noexcept { return timeout * (server_tick > timeout / 4 ? 10 : 7) / 24; }

  /// @returns how late the leader's pings may be.
  duration ping_tolerance() const noexcept {
    return ping_gap() - (server_tick > duration::zero() ? server_tick : timeout / 2) / 2;
  }

  /// @returns the shortest session timeout for which a lease can be kept at that tick.
  static constexpr duration shortest(duration server_tick) noexcept { return server_tick * 4 / 3; }

  /// @returns the longest time before the end of a lease for which a holder can be warned, see `liveness_clock`: T/4,
  /// or T/8 with the longer gap.
  duration longest_warning() const noexcept { return std::min(timeout / 4, timeout * 13 / 24 - ping_gap()); }
};

/// The ensemble ends a session T after its *leader* last heard of it. What a client sees is no proof of that: a server
/// answers pings and reads alone, and an acknowledged write does not touch the session at the leader. A server collects
/// the sessions that have sent something (`LearnerSessionTracker.touchSession`), and hands them to the leader with its
/// answer to the leader's next ping (`Learner.ping`, `LearnerHandler.run`: `Leader.PING`). The leader pings every half
/// tick (`Leader.lead`). So three answers make a lease, each of them to a request of the same connection:
///
///   C  Any request, sent at `s` and answered. Our server has heard of us at `s` or later.
///   R  A sync or a write, sent a ping gap or more after the answer to C, and answered. The leader has pinged our server
///      between the two. Its answer to R came behind that ping on the same connection (`LearnerHandler.queuePacket`), and
///      one thread of our server handles both (`Follower.processPacket`): so our server has answered a ping since C, and
///      has named our session.
///   W  A write, sent after the answer to R, and acknowledged. It went to the leader behind that answer to the ping, on
///      the same connection, and one thread of the leader handles both (`LearnerHandler.run`): so the leader has
///      touched our session at `s` or later. The quorum's acknowledgement tells that it was still the leader.
///
/// Then the session lives until `s + T`, whatever becomes of the connections: an expiry is rounded up, never down
/// (`ExpiryQueue.update`), and a new leader begins all timers anew (`LeaderZooKeeperServer`, `SessionTrackerImpl`).
/// T/12 of it is left to clocks that run at different speeds.
///
/// Two more moments are known. The creation of a session is a write, and touches it at the leader. On a new connection
/// of the same session the server asks the leader, which touches it (`Leader.REVALIDATE`); that was after the last
/// answered request of the connection before had been sent.
///
/// Every time is taken on the safe side: of a request before it is sent, of an answer after it has come. So a stopped
/// process, a late event or a packet that is held back, in whatever direction, makes a lease shorter and never longer.
///
/// With `trusts_network`, one acknowledged write that was sent at `s` is enough until `s + 5/12 T`. That rests on the
/// pings of the C client, T/3 apart: it fails when the network or this process has stalled shortly before, by 5/12 T at
/// most. It is for the first grant of a client that does not keep C and R ready while it is idle.
///
/// A *warning* is due when less than a certain time, the reserve, is left of the lease. It is never due while each
/// round trip takes less than T/24. In units of T/24, with a ping gap of G (7 or 10):
///
///   Syncs are at most 4 apart (those of an idle client), and each becomes a C less than 1 later. So the C of a sync that
///   is sent at `b` was sent after `b - G - 1 - 4`. The proof that follows it is answered before `b + 2`, and the lease
///   lasts until `b + 17 - G`.
///   With the next sync at `b + 2`, the next proof is answered before `b + 4`. More than `13 - G` is left until then: the
///   longest reserve, and not less than `fresh()` asks for. With the next sync at `b + 3` more than `12 - G` is left.
///   So syncs are T/12 apart for a reserve above `11 - G`, and T/8 apart, as without one, for a smaller one.
///   After a sync is answered, the proof may wait for the next sync if the lease lasts until then: until the reserve, the
///   time between two syncs and 2 round trips from now. That is the reserve and T/6; with syncs T/8 apart the reserve
///   is at most 4, and the sum at most 9, which is 3/8 T, as without one.
///
/// With `trusts_network` a write that is sent at `w` makes the lease last until `w + 10`. With a reserve, a proof may
/// follow each sync, so the next one is sent before `w + 3`, or `w + 4` with syncs T/8 apart, and answered less than 1
/// later. More than 6, or 5, is left until then.
class liveness_clock {
 public:
  /// The session was asked for at `opened`, and is there.
  void begin(const session_timing& timing, time_point opened) {
    restart(timing);
    anchor_ = known_ = opened;
  }

  /// The ensemble has changed the session timeout: what was known before no longer counts.
  void begin_again(const session_timing& timing) {
    const auto anchor = anchor_;
    restart(timing);
    anchor_ = anchor;
  }

  /// There is a new connection of the same session.
  void connected(time_point now) { relayed_.push_back({anchor_, now}); }

  /// What a server has heard is of use on its own connection only.
  void disconnected() noexcept {
    heard_.clear();
    relayed_.clear();
    asked_ = unknown;
  }

  /// A request that was sent at `sent` is answered at `now`.
  void answered(evidence what, time_point sent, time_point now) {
    anchor_ = std::max(anchor_, sent);
    if (what == evidence::committed) {
      if (const auto since = take(relayed_, sent)) known_ = std::max(known_, *since);
      newest_write_ = std::max(newest_write_, sent);
    }
    if (what != evidence::heard) {
      if (const auto since = take(heard_, sent - timing_.ping_gap())) add(relayed_, *since, now);
    }
    add(heard_, sent, now);
    unbroken_ = is_unbroken();
  }

  /// @returns until when a grant is valid.
  time_point valid_until() const noexcept {
    const auto until = after(known_, timing_.timeout * 11 / 12);
    return timing_.trusts_network ? std::max(until, after(newest_write_, timing_.timeout * 5 / 12)) : until;
  }

  /// @returns when a holder should begin to worry: a proof is overdue.
  time_point suspect_at() const noexcept { return after(valid_until(), -timing_.timeout / 12); }

  /// @returns whether there is enough left of the lease to give a grant with. After an outage that the connection has
  /// survived, all that was on its way is answered at once: then the lease may end before another R can follow, and the
  /// W after it, whose round trips may take T/24 each.
  bool fresh(time_point now) const noexcept {
    return valid_until() > now + timing_.timeout / 8 && (unbroken_ || timing_.trusts_network);
  }

  /// A holder is to be warned when less than `before` is left, the longest of all; zero: none.
  /// @pre at most `session_timing::longest_warning()`
  void reserve(duration before) noexcept { reserve_ = before; }

  /// @returns whether a holder had better prove its lease when that is possible.
  bool wants_proof(time_point now) const noexcept {
    return valid_until() < now + std::max(timing_.timeout * 3 / 8, reserve_ + timing_.timeout / 6);
  }

  /// @returns whether a write that is sent now makes the lease longer than those do that are under way.
  bool provable(time_point now) const noexcept {
    const auto apart = timing_.timeout / (reserve_ > duration::zero() ? 24 : 8);
    if (timing_.trusts_network && after(newest_asked_, apart) < now) return true;
    return !relayed_.empty() && relayed_.back().since > std::max(known_, asked_);
  }

  /// A proof is sent.
  void proof_sent(time_point now) noexcept {
    newest_asked_ = now;
    if (!relayed_.empty()) asked_ = relayed_.back().since;
  }

  /// @returns how often to send a sync: so that C and R are ready for the first grant, and for the proofs of holders.
  duration beat_interval(bool holding) const noexcept {
    const bool hurries = reserve_ > duration::zero() && reserve_ > timing_.longest_warning() - timing_.timeout / 12;
    return timing_.timeout / (hurries ? 12 : holding ? 8 : 6);
  }

  /// @returns when to send the next sync: at the next beat; for holders as soon as it can be an R, if the lease may not
  /// last for a beat and three round trips more.
  time_point next_sync(time_point now, bool holding) const noexcept {
    const auto beat = now + beat_interval(holding);
    if (!holding || valid_until() >= beat + timing_.timeout / 8) return beat;
    const auto ready = renewable_at();
    return ready > now ? std::min(beat, ready) : beat;
  }

  const session_timing& timing() const noexcept { return timing_; }

 private:
  struct answer {
    time_point since;     ///< when C was sent
    time_point answered;  ///< when C was, or R
  };

  static constexpr time_point unknown = time_point::min();
  static constexpr std::size_t most_answers = 64;
  static time_point after(time_point from, duration time) noexcept { return from == unknown ? unknown : from + time; }

  /// @returns what will be known when a proof is sent now and acknowledged.
  time_point soon_known() const noexcept { return relayed_.empty() ? known_ : std::max(known_, relayed_.back().since); }

  /// @returns from when on a sync can be an R that makes the lease longer; a past time if no C is there to say so.
  time_point renewable_at() const noexcept {
    const auto known = soon_known();
    const auto next = std::find_if(heard_.begin(), heard_.end(), [&](const answer& c) { return c.since > known; });
    return next == heard_.end() ? known : next->answered + timing_.ping_gap();
  }

  /// @returns whether each C that is there can be proved before the lease ends that the one before it makes.
  bool is_unbroken() const noexcept {
    auto known = soon_known();
    for (const auto& c : heard_) {
      if (c.since <= known) continue;
      const auto proved = c.answered + timing_.ping_gap() + timing_.timeout / 8;
      if (after(known, timing_.timeout * 11 / 12) < proved) return false;
      known = c.since;
    }
    return true;
  }

  void restart(const session_timing& timing) {
    const auto reserve = reserve_;
    *this = {};
    reserve_ = reserve;
    timing_ = timing;
    heard_.reserve(most_answers);
    relayed_.reserve(most_answers);
  }

  /// Not more of them than make a difference.
  void add(std::vector<answer>& to, time_point since, time_point now) {
    if (!to.empty() && since < to.back().since + timing_.timeout / 96) return;
    if (to.size() == most_answers) to.erase(to.begin());
    to.push_back({since, now});
  }

  /// @returns the newest C that was answered by then. Older ones are of no use any more.
  static std::optional<time_point> take(std::vector<answer>& from, time_point by) {
    const auto end = std::find_if(from.begin(), from.end(), [by](const answer& each) { return each.answered > by; });
    if (end == from.begin()) return std::nullopt;
    const auto since = (end - 1)->since;
    from.erase(from.begin(), end - 1);
    return since;
  }

  session_timing timing_;
  duration reserve_{};
  time_point known_ = unknown;         // the leader has touched the session then, or later
  time_point newest_write_ = unknown;  // of those acknowledged
  time_point anchor_ = unknown;        // of those answered, the newest was sent then
  time_point asked_ = unknown;         // what the proofs under way will make known
  time_point newest_asked_ = unknown;  // when the newest of them was sent
  std::vector<answer> heard_;          // C: the oldest first
  std::vector<answer> relayed_;        // R
  bool unbroken_ = true;               // `is_unbroken()`: grants ask more often than answers come
};

}  // namespace latchkey::detail
