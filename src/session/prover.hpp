// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Proves to the holders of grants that the session lives, and tells them when that cannot be proved any more.

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <latchkey/grant.hpp>

#include "session/liveness.hpp"
#include "session/own_nodes.hpp"
#include "session/session.hpp"

namespace latchkey::detail {

class holder;

/// What the prover knows of a holder.
struct held_node {
  holder* who = nullptr;
  bool paused = false;
  bool resting = false;
};

/// Where a holder stands in the prover's table, if it does.
class table_entry {
  friend class prover;
  std::pair<const std::string, held_node>* at_ = nullptr;
};

/// Somebody with a node on which a grant rests. Called with the strand held.
class holder : public node_owner {
 public:
  virtual void on_suspect() = 0;
  /// The prover has forgotten this holder already.
  virtual void on_lost(loss_reason reason) = 0;

  table_entry entry;  ///< of the prover alone

 protected:
  ~holder() = default;
};

/// While there are holders that do not rest, one `multi[check...]` every quarter of the session timeout (the first one
/// sooner, where little is left of the proof on which they were granted), over all their nodes. Without holders no
/// traffic, however many wait. With the strand held.
class prover {
 public:
  prover(strand& own, session& through) : strand_{own}, session_{through} {}

  /// Again after it has rested: takes no memory. @pre `fresh()`
  void add(holder& who);
  void remove(holder& who);
  /// Nobody needs its grant until it is added again: no proofs, and it hears of no loss.
  void rest(holder& who);
  /// Its node is about to be replaced: that it goes is no loss. Until it is removed and added again.
  void pause(holder& who);

  /// @returns whether a grant that arrives now needs no proof of its own.
  bool fresh() const { return fresh(strand_.now()); }
  bool fresh(time_point now) const noexcept { return clock_.fresh(now) && pulse_->valid_until() > now; }

  /// @returns what the grants of now live by.
  const std::shared_ptr<pulse>& beat() const noexcept { return pulse_; }

  /// @returns how long to wait before a proof makes sense; mostly zero.
  duration wait_before_proof() const { return clock_.wait_before_proof(strand_.now()); }

  /// @returns the holder with that node; none when it rests.
  holder* holder_of(const std::string& node) {
    auto* const held = find(node);
    return held ? held->who : nullptr;
  }

  void on_connected(bool new_session);
  void on_proof(time_point sent);
  /// The session is over: no timer runs any more.
  void stop();
  /// Every holder has lost.
  void lose_all(loss_reason why);

  /// @returns how many there are, with those that rest.
  std::size_t holders() const noexcept { return holders_.size(); }

 private:
  void keep_time();
  void prove();
  void prove_later(time_point now);
  void prove_at(time_point time);
  void check(std::vector<std::string> nodes);
  void on_checked(const std::vector<std::string>& nodes, const reply& checked);
  held_node* find(const std::string& node);
  void lose(holder& who, loss_reason why);
  void lose_node(const std::string& node);
  void await_deadline();
  void on_deadline();

  strand& strand_;
  session& session_;
  liveness_clock clock_;
  std::shared_ptr<pulse> pulse_ = std::make_shared<pulse>();
  std::unordered_map<std::string, held_node> holders_;  // by their nodes
  std::size_t awake_ = 0;                               // of them, those that do not rest
  bool suspect_ = false;
  timer_id beat_timer_;
  timer_id proof_timer_;
  time_point proof_at_{};  // of that timer
  timer_id deadline_timer_;
};

}  // namespace latchkey::detail
