// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Deletions that must happen.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bridge/monitor.hpp"
#include "session/refused_nodes.hpp"
#include "session/session.hpp"

namespace latchkey::detail {

/// A node that is no longer wanted is handed to the reaper. It is deleted now, in a moment (`remove_soon`), or after
/// the next reconnect; the deletion is repeated until the ensemble has confirmed it or the session is over.
///
/// The first few deletions are sent one by one, at once. Those that come while these are under way are gathered, and
/// sent in one transaction with the next answer. That takes a round trip or two longer, and costs the ensemble a
/// fraction of single deletions (the group commit of databases). Deletions that no remote waiter waits for are gathered
/// as soon as any other is under way, and are sent with the next of the others at the latest. For the entries of this
/// session a node in the reaper counts as deleted, though a list may still show it: see `remaining`.
class reaper {
 public:
  reaper(monitor& own, session& through) : monitor_{own}, session_{through}, refused_{own, through} {}

  /// Deletes the node at `path`. @param along goes in one transaction with that: all or nothing. If the ensemble refuses it,
  /// the node goes by itself.
  void remove(std::string path, std::vector<step> along = {}) {
    discharge(add({.path = std::move(path), .prefix = {}, .along = std::move(along)}));
  }

  /// As `remove`, for a node that only an entry of this session waits for: not while another deletion is under way.
  void remove_unhurried(std::string path) { discharge(add({.path = std::move(path), .prefix = {}, .hurry = false})); }

  /// As `remove`, for a node that may be gone already: not together with others, whose transaction would fail.
  void remove_alone(std::string path) { discharge(add({.path = std::move(path), .prefix = {}, .alone = true})); }

  /// All that `what` hands over goes in one transaction, if the connection is there. @pre not inside another call of it
  template <class Callable>
  void together(Callable&& what) {
    gathering_ = true;
    std::forward<Callable>(what)();
    gathering_ = false;
    remove_gathered_now();
  }

  /// As `remove`, but not before `wait` has passed: until then `hand_over` may take it into a transaction.
  void remove_soon(std::string path, duration wait = patience, std::vector<step> along = {});

  /// How long `remove_soon` waits: far less than a hand-off takes.
  static constexpr duration patience = std::chrono::microseconds{50};
  /// The same for a node that no contender waits for, since a datagram has told its release.
  static constexpr duration patience_if_told = std::chrono::milliseconds{1};

  /// The caller's transaction deletes the node at `path`, if it still waits in `remove_soon`; should that fail, the
  /// reaper deletes it. @param steps of that transaction; what goes along with the node, and its deletion, are added
  /// @returns a number for `handed_over`; 0 if the node does not wait, or there is no connection.
  std::uint64_t hand_over(std::string_view path, std::vector<step>& steps);
  void handed_over(std::uint64_t id, reply_code code) { conclude_all({id}, code); }

  /// Deletes the child of `parent` whose name begins with `prefix`, if the create whose reply was lost has made one.
  void remove_unknown(std::string parent, std::string prefix);

  /// The node at `path`, about to be handed over, means something to others until it is gone: they have been given its
  /// name, or a transaction that checks it has not been answered.
  void bind(std::string path) { bound_.insert(std::move(path)); }
  /// @returns whether such a child of `parent` may be there still.
  bool owes_bound(const std::string& parent) const;
  bool binds(const std::string& path) const { return bound_.contains(path); }

  /// @returns `children` of `parent` without those that are being deleted, which hold nothing.
  std::vector<std::string> remaining(const std::string& parent, const std::vector<std::string>& children) const;

  /// @returns whether the node at `path` is being deleted.
  bool removes(std::string_view path) const { return removed_.contains(path); }

  /// @returns whether the ensemble may still have the node, which is to go.
  bool owes(const std::string& path) const { return removes(path) && !disregarded_.contains(path); }

  /// The leader says that the node at `path` has gone, whatever the server of this client shows: it counts as being
  /// deleted from now on, until the session is over.
  void disregard(const std::string& path);

  /// Deletions are gathered when at least `requests` of them, at least one, are under way. For tests.
  void gather_beyond(std::size_t requests) noexcept { gather_beyond_ = requests; }

  bool idle() const noexcept { return obligations_.empty(); }
  /// @returns how many nodes are still to be deleted.
  std::size_t owed() const noexcept { return obligations_.size(); }

  /// `what` is called with the path of each node that is refused from now on, and of each that is disregarded.
  void when_reassessed(std::function<void(const std::string&)> what) { on_reassessed_ = std::move(what); }
  refused_nodes& refused() noexcept { return refused_; }
  const refused_nodes& refused() const noexcept { return refused_; }

  void on_connected();
  /// The ensemble has deleted the nodes of the session together with it.
  void on_session_over();

 private:
  struct obligation {
    enum class state : std::uint8_t { open, kept, gathered, under_way };

    std::string path;    // of the node, or of its parent
    std::string prefix;  // of its name when that is not known
    std::vector<step> along{};
    state is = state::open;
    time_point until{};  // it is kept
    bool alone = false;  // it may be gone already: a transaction with others would fail
    bool hurry = true;   // a remote waiter may wait for it

    void add_to(std::vector<step>& steps) const;
  };
  using numbers = std::vector<std::uint64_t>;

  std::uint64_t add(obligation what);
  void discharge(std::uint64_t id);
  void await_patience(time_point until);
  void stop_keeping();
  void remove_now(std::uint64_t id);
  bool crowded(bool hurry) const noexcept;
  void remove_gathered();
  void remove_gathered_now();
  void remove_together();
  void remove_by_itself(std::uint64_t id);
  void look_now(std::uint64_t id);
  void on_removed(std::uint64_t id, reply_code code);
  void on_all_removed(const numbers& ids, bool hurry, reply_code code);
  void on_listed(std::uint64_t id, const reply& listed);
  void conclude(std::uint64_t id, reply_code code);
  void conclude_all(const numbers& ids, reply_code code);

  monitor& monitor_;
  session& session_;
  std::size_t gather_beyond_ = 8;
  std::map<std::uint64_t, obligation> obligations_;  // in the order they arose
  std::set<std::string> disregarded_;
  std::set<std::string, std::less<>> bound_;
  std::unordered_set<std::string_view> removed_;  // the paths of those whose names are known, and of the disregarded
  numbers kept_;                                  // the oldest first
  timer_id patience_;                             // runs when the first of them is due, or earlier
  time_point patience_until_{};                   // of that timer
  numbers gathered_;
  bool gathering_ = false;     // see `together`
  std::size_t deletions_ = 0;  // requests under way
  std::size_t batches_ = 0;    // those of them that are transactions
  std::size_t hurried_ = 0;    // those of these that remote waiters may wait for
  std::uint64_t last_ = 0;
  refused_nodes refused_;
  std::function<void(const std::string&)> on_reassessed_;
};

}  // namespace latchkey::detail
