// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One server of a fake ensemble: its own, possibly old, view of the tree, the watches set on it, and its link to the
/// leader.

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bridge/znodes.hpp"
#include "simulation/fake_leader.hpp"

namespace latchkey::testing {

/// A connection of a client, seen from its server.
class server_side {
 public:
  /// The server has applied more of the log, or reaches the leader again.
  virtual void on_progress() = 0;
  virtual void on_event(detail::watch_event event, path_id path) = 0;
  /// The server closes the connection.
  virtual void on_server_closes() = 0;
  virtual const ensemble_session* session() const noexcept = 0;

 protected:
  ~server_side() = default;
};

enum class watch_kind : std::uint8_t { data, child };

/// A way between a server and its leader: what is on it stays in order, however late.
enum class direction : std::uint8_t { from_leader, to_leader };

class fake_server {
 public:
  fake_server(simulation& time, const path_table& paths, fake_leader& leader, const fault_plan& plan, unsigned number);
  fake_server(const fake_server&) = delete;
  fake_server& operator=(const fake_server&) = delete;

  unsigned number() const noexcept { return number_; }
  const fake_tree& tree() const noexcept { return tree_; }

  /// @returns how many entries of the log it has applied.
  std::size_t applied() const noexcept { return applied_; }
  std::int64_t zxid() const noexcept { return applied_ == 0 ? 0 : leader_.log()[applied_ - 1].zxid; }

  /// The log has a new entry.
  void on_commit();
  /// Applies that much of the log now, if it reaches the leader.
  void catch_up(std::size_t position);
  /// From now on it is so much later than the leader; what it is late with already stays so.
  void set_lag(delay_range lag) noexcept { own_lag_ = lag; }

  /// It will lose the transaction that removes this node, and show the node for ever (see ZOOKEEPER-4785); not one that
  /// does more than that.
  void lose_removal(path_id path) { lost_.insert(path); }
  /// It will send no event when this node is removed (see ZOOKEEPER-4799).
  void lose_event(path_id path) { unheard_.insert(path); }

  // Its link to the leader:

  /// It goes on serving reads, pings and watches from what it knows; its clients are disconnected when it notices.
  void cut(duration length);
  void heal();
  bool reaches_leader() const noexcept { return !is_cut_ && leader_.available(); }
  bool accepts_clients() const noexcept {
    return reaches_leader() && !holds_back(direction::from_leader) && !holds_back(direction::to_leader);
  }
  /// The session timeouts that it agrees to.
  void limit_timeout(duration most, duration least = {}) noexcept {
    shortest_timeout_ = least;
    longest_timeout_ = most;
  }
  duration agreed_timeout(duration asked) const noexcept {
    return std::clamp(asked, shortest_timeout_, longest_timeout_);
  }
  bool is_cut() const noexcept { return is_cut_; }
  /// It led when it was cut off, and has not noticed yet: it answers syncs by itself (`Leader.processSync`).
  bool is_deposed() const noexcept { return is_deposed_; }
  /// Holds packets back, those on their way too; then they arrive, in order.
  void hold_back(direction way, duration length);
  bool holds_back(direction way) const noexcept {
    return !is_leader_ && (time_.now() < held_until(way) || (way == direction::to_leader && leader_.stalls()));
  }
  /// The caller has it catch up first: it does not wait for what the former leader has held back.
  void become_leader(bool is_leader) noexcept {
    is_leader_ = is_leader;
    if (is_leader) scheduled_ = false;
  }
  bool is_leader() const noexcept { return is_leader_; }
  void disconnect_clients();
  /// The leader's ping, unless that is not due or the leader has stalled.
  void send_due_ping();
  /// There is a new leader. A server that is cut off hears of it when it is back; its clients have to leave then.
  void on_election();

  // Its clients:

  void attach(server_side& client) { clients_.push_back(&client); }
  /// The watches of `client` go, too.
  void detach(server_side& client);
  /// A packet of this session came: the leader hears of it with the answer to its next ping.
  void touch(ensemble_session& session, duration timeout);
  /// The leader is about to look at a request that came to this server at `arrived`: what the server sent before comes
  /// before.
  void forwarding(time_point arrived);
  /// The leader's answer to a sync is on its way; `arrived` runs when the server has got it, behind all that was sent
  /// before.
  void answer_sync(std::size_t position, std::function<void()> arrived);
  void watch(watch_kind kind, path_id path, server_side& client);
  std::size_t watches() const noexcept;

 private:
  bool loses(const commit& what) { return what.kind == commit_kind::removed && lost_.erase(what.path) != 0; }

  using watch_table = std::unordered_map<path_id, std::vector<server_side*>>;

  void schedule();
  void apply_due();
  void apply_next();
  void fire_events(const commit& what);
  void fire_removed(path_id path);
  void fire(watch_table& table, path_id path, detail::watch_event event);
  time_point held_until(direction way) const noexcept { return held_until_[static_cast<std::size_t>(way)]; }
  void deliver_held_back(direction way);
  void send_ping();
  void send_from_leader(std::size_t position, std::function<void()> arrived);
  void receive(time_point sent_by);
  void receive_next();
  void answer_ping();
  void deliver_touches(time_point sent_by);
  void end_cut(std::uint64_t cut);

  simulation& time_;
  const path_table& paths_;
  fake_leader& leader_;
  const fault_plan& plan_;
  const unsigned number_;
  delay_range own_lag_{};
  fake_tree tree_;
  std::unordered_set<path_id> lost_;     // nodes whose removal it will lose
  std::unordered_set<path_id> unheard_;  // whose end it does not tell
  std::size_t applied_ = 0;
  std::deque<time_point> due_;  // when the entries from `applied_` on will have been applied
  bool scheduled_ = false;
  bool ping_is_due_ = false;
  bool is_cut_ = false;
  bool is_leader_ = false;
  bool is_deposed_ = false;
  bool missed_election_ = false;
  duration shortest_timeout_{};
  duration longest_timeout_ = duration::max();
  std::array<time_point, 2> held_until_{};
  /// From the leader: a ping, or the answer to a sync.
  struct packet {
    time_point sent;
    std::size_t position;  // how much of the log the leader has sent before
    std::function<void()> arrived;
  };
  std::deque<packet> from_leader_;
  /// To the leader: the answer to a ping.
  struct touches {
    time_point sent;
    std::vector<std::pair<ensemble_session*, duration>> sessions;  // with their timeouts
  };
  std::deque<touches> touches_;
  std::uint64_t cuts_ = 0;
  std::vector<server_side*> clients_;
  watch_table data_watches_;
  watch_table child_watches_;
};

}  // namespace latchkey::testing
