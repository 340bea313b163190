// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Watches the nodes of this client's own entries.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bridge/monitor.hpp"
#include "session/session.hpp"

namespace latchkey::detail {

/// What Curator's `Revoker` writes into the node of a holder to ask for its release.
inline constexpr std::string_view release_request = "__REVOKE__";

class node_owner;

/// The position of an entry in the table of `own_nodes`, if it is there.
class watch_entry {
  friend class own_nodes;
  enum class state : std::uint8_t { none, young, reading, watched, unwatched };

  state is_ = state::none;
  node_owner* before_ = nullptr;  // while young: in the order of `due_`
  node_owner* after_ = nullptr;
  time_point due_{};
  std::uint64_t watch_ = 0;
  std::uint64_t read_ = 0;  // the one under way; 0: none
};

/// Told what becomes of the node of an entry of ours, waiting or holding.
class node_owner {
 public:
  /// @returns the path of the node.
  virtual const std::string& node() const noexcept = 0;
  /// The node has been read, and was there.
  /// @param asked_to_release what has been written into it is `release_request`
  virtual void on_node_seen(bool asked_to_release, std::int64_t czxid) = 0;
  /// The node has been deleted, and is no longer watched.
  virtual void on_node_gone() = 0;
  /// A read has failed, with a code that says nothing about the node.
  virtual void on_node_unseen(reply_code why) = 0;

  watch_entry watched;  ///< for `own_nodes` only

 protected:
  ~node_owner() = default;
};

/// Every node gets one `get` watch when it has existed for a moment, and keeps it until it goes or is not ours any
/// more. So its deletion is known within a round trip, and, as the events of a session come in the order of the
/// deletions, before that of any node that was deleted later. What is gone within the moment costs no read.
///
/// Nodes beyond what `session::may_watch` allows wait until others have gone.
class own_nodes {
 public:
  /// How long a new node is not watched.
  static constexpr duration youth = std::chrono::milliseconds{10};

  own_nodes(monitor& own, session& through) : monitor_{own}, session_{through} {}

  /// The node has just been created, or found.
  void add(node_owner& who);
  /// Its owner is told nothing more. Does nothing for one that was not added. @pre `node()` has not changed
  void remove(node_owner& who);

  /// Begins to watch now, unless it watches already.
  void watch(node_owner& who);

  /// @returns whether a deletion would be known, unless the node is younger than `youth`.
  bool sure(const node_owner& who) const noexcept;

  /// Reads the node now, or waits for a read that is under way; the owner is told of the outcome.
  /// @pre connected
  void look(node_owner& who);

  /// As `look`, but a read that sets a watch waits for its turn among at most 64 at a time, ahead of all others: an
  /// entry that goes meanwhile costs none. @pre connected
  void read_next(node_owner& who);

  void on_connected() { read_due(); }

  bool empty() const noexcept { return count_ == 0; }

 private:
  using state = watch_entry::state;

  void push_back(node_owner& who) noexcept;
  void push_front(node_owner& who) noexcept;
  void unlink(node_owner& who) noexcept;
  void read_later(time_point when);
  void read_due();
  void read(node_owner& who, bool watch);
  bool affordable(const node_owner& who) const noexcept;
  void on_read(std::uint64_t id, const reply& read);

  /// What is done with the answer to a read. (So small that it takes no memory of its own.)
  struct answered {
    own_nodes* of;
    std::uint64_t id;

    bool is_stale() const { return !of->reads_.contains(id); }
    void operator()(const reply& read) const { of->on_read(id, read); }
  };
  void on_event(node_owner& who, watch_event event);

  monitor& monitor_;
  session& session_;
  std::size_t count_ = 0;
  node_owner* first_ = nullptr;  // of the young
  node_owner* last_ = nullptr;
  bool starved_ = false;  // the first waits for bytes
  timer_id timer_;
  std::unordered_map<std::uint64_t, node_owner*> reads_;  // under way
  std::uint64_t last_read_ = 0;
};

}  // namespace latchkey::detail
