// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Proves that the session lives, for the holders of grants, and tells them when it cannot be proved any more.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <latchkey/grant.hpp>

#include "session/lease.hpp"
#include "session/lease_warnings.hpp"
#include "session/liveness.hpp"
#include "session/own_nodes.hpp"
#include "session/session.hpp"

namespace latchkey::detail {

class holder;

/// What the lease keeper knows of a holder.
struct held_node {
  holder* who = nullptr;
  std::uint64_t number = 0;  // in the order in which they came
  bool holding = false;      // a grant rests on it; else it has only asked for a lease
  bool asking = false;
  bool next = false;      // it waits for the last one ahead
  bool checking = false;  // a proof with its node is under way
  bool paused = false;
  bool lingering = false;

  bool awake() const noexcept { return holding && !lingering; }
  bool needs_proof() const noexcept { return !paused && (awake() || asking || next); }
};

/// The position of a holder in the lease keeper's table, if it is there.
class table_entry {
  friend class lease_keeper;
  std::pair<const std::string, held_node>* at_ = nullptr;
};

/// The owner of a node on which a grant rests, or is to rest.
class holder : public node_owner {
 public:
  virtual void on_suspect() = 0;
  /// The lease keeper has forgotten this holder already.
  virtual void on_lost(loss_reason reason) = 0;
  /// The lease that was asked for is `fresh()`, and the node existed.
  virtual void on_proved() = 0;
  /// The connection was lost before that.
  virtual void on_unproved() = 0;
  /// A transaction of its grant is to delete its node. @returns whether it may. Then that is no loss until `end_release`.
  virtual bool begin_release() = 0;
  /// @param gone whether the node is; then its grant has ended.
  virtual void end_release(bool gone) = 0;

  table_entry entry;  ///< for the lease keeper only

 protected:
  ~holder() = default;
};

/// Keeps the lease of the session (see `liveness_clock`).
///
/// A sync at every beat, T/8 apart while there are holders and T/6 apart otherwise, keeps the first two answers of a
/// lease ready. The third is a proof: one `multi[check...]` over all nodes on which grants rest. It follows the answer
/// to a sync when less than 3/8 of the session timeout is left to holders, in steady state every T/4 (T/8 if T is
/// known to be below four ticks); and at once when an entry asks for a lease, provided that the answers for a longer one
/// are there. So proofs are sent at the rate of the beats at most, however slow the quorum is, and one that is under way
/// does not hold up the next. Without `client_options::keep_lease_ready` it rests while the client is idle. Beats and
/// proofs come earlier while there are warnings, as far as `liveness_clock` finds that necessary.
class lease_keeper {
 public:
  /// @param timing of the clock, but for the session timeout
  lease_keeper(monitor& own, session& through, const session_timing& timing, metrics& counts)
      : monitor_{own}, session_{through}, timing_{timing}, counts_{counts} {}

  /// A grant rests on its node from now on. Allocates nothing after `stop_proving()`. Unless `fresh()` it
  /// may be told of the loss within the call.
  void add(holder& who, time_point now);
  void remove(holder& who);
  /// It waits, and may be granted at any time: its lease is kept `fresh()` until it is removed or added.
  void expect(holder& who);
  /// Its grant is not needed until it is added again: no proofs are sent, and it is not told of a loss.
  void stop_proving(holder& who);
  /// It is told `on_proved` once `fresh()` is true, or `on_unproved`, unless it is removed before. @pre connected
  void ask(holder& who);
  /// Its node is about to be replaced: its deletion is no loss until the holder is removed and added again.
  void pause(holder& who);
  /// The leader says that the node is not there.
  void lose_node(const std::string& node);

  /// `what` runs once less than `before` is left of the lease: with a connection not before T/12 from now, so that a
  /// proof may arrive. @pre `before` is at most `longest_warning()`. @returns an id for `stop_warning`, which is called
  /// when the grant has ended, whether `what` has run or not.
  warning_id warn(duration before, std::function<void()> what);
  void stop_warning(const warning_id& id);
  duration longest_warning() const noexcept { return clock_.timing().longest_warning(); }

  /// @returns whether a grant that arrives now needs no proof of its own.
  bool fresh() const { return fresh(monitor_.now()); }
  bool fresh(time_point now) const noexcept { return clock_.fresh(now) && lease_->valid_until() > now; }

  /// @returns the lease of the present grants.
  const std::shared_ptr<lease>& current_lease() const noexcept { return lease_; }

  /// @returns the holder with that node; none when it rests.
  holder* holder_of(const std::string& node) {
    auto* const held = find(node);
    return held ? held->who : nullptr;
  }

  /// @returns whether that node waits for a lease only: it has the first place.
  bool asks(const std::string& node) {
    const auto* const held = find(node);
    return held != nullptr && held->asking && !held->holding;
  }

  /// @param opened when a new session was asked for; nothing for a session that goes on
  void on_connected(std::optional<time_point> opened);
  void on_disconnected();
  void on_answered(evidence what, time_point sent);
  /// The session is over: stops every timer.
  void stop();
  /// Every holder loses its grant.
  void lose_all(loss_reason why);

  /// @returns how many grants there are.
  std::size_t grants() const noexcept { return awake_; }
  /// @returns how many holders there are, including those that rest.
  std::size_t holders() const noexcept { return holders_.size(); }

 private:
  bool keeps() const noexcept { return awake_ != 0 || expecting_ != 0; }
  bool busy() const noexcept { return keeps() || asking_ != 0; }
  held_node& enter(holder& who);
  void begin_lease();
  void send_beat();
  void send_sync();
  void beat_by(time_point time);
  void prove_if_due();
  void prove();
  void check(std::span<const std::string> nodes);
  void check_at_once(std::vector<std::string> nodes);
  void on_checked(std::vector<std::string> nodes, time_point sent, const reply& checked);
  void check_latecomers();
  void answer_those_who_ask(const std::vector<std::string>& nodes, void (holder::*how)());
  std::vector<std::string> nodes_of(bool (*which)(const held_node&)) const;
  held_node* find(const std::string& node);
  void lose(holder& who, loss_reason why);
  void await_deadline();
  void on_deadline();
  void await_warning(time_point next);

  monitor& monitor_;
  session& session_;
  const session_timing timing_;
  metrics& counts_;
  liveness_clock clock_;
  std::shared_ptr<lease> lease_ = std::make_shared<lease>();
  std::unordered_map<std::string, held_node> holders_;  // by their nodes
  std::uint64_t entered_ = 0;                           // how many there have been
  std::size_t awake_ = 0;                               // of them, those that hold and do not rest
  std::size_t asking_ = 0;                              // those that have asked for a lease
  std::size_t expecting_ = 0;                           // those that are next
  bool suspect_ = false;
  std::size_t unanswered_syncs_ = 0;
  duration sync_took_{};    // the newest that is answered
  time_point synced_at_{};  // when the newest sync was sent
  timer_id beat_timer_;
  time_point beat_at_{};  // of that timer
  timer_id deadline_timer_;
  lease_warnings warnings_;
  timer_id warning_timer_;
};

}  // namespace latchkey::detail
