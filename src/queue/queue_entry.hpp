// SPDX-License-Identifier: Apache-2.0
#pragma once

/// An entry in the queue of one lock path: the queue protocol.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <latchkey/fencing_token.hpp>

#include "base/node_name.hpp"
#include "queue/admission.hpp"
#include "queue/neighbours.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// Told what becomes of an entry, with the monitor held. Only `on_delayed` and `on_refused` are called from inside a
/// call to that entry.
class entry_listener {
 public:
  /// Its node is in the queue. Told once.
  virtual void on_queued() {}
  virtual void on_granted() = 0;
  /// A contender is ahead, or the connection was lost. May be told again.
  virtual void on_delayed() {}
  /// The proof that `confirm` has asked for did not arrive.
  virtual void on_unconfirmed() {}
  /// With `patience::once`: another contender holds the lock, or the ensemble is out of reach. With `patience::keep`:
  /// the place is lost. The entry is over.
  virtual void on_refused() = 0;
  virtual void on_suspect() = 0;
  /// The grant is lost. The entry is over.
  virtual void on_lost(loss_reason why) = 0;
  /// A failure that waiting cannot fix. The entry is over.
  virtual void on_failed(const failure& why) = 0;
  virtual void on_asked_to_release() {}
  /// The entry of a writer is that of a reader now.
  virtual void on_downgraded() {}

 protected:
  ~entry_listener() = default;
};

/// What an entry does when it is not granted at once.
enum class patience : std::uint8_t {
  wait,  ///< waits until it is granted: through outages, lost sessions and deletions by operators
  once,  ///< gives up: it is for a try
  keep,  ///< waits through outages, but gives up when its place is lost: it is for a ticket
};

/// @returns the patience of a call that tries once, or waits.
constexpr patience patience_of(bool once) noexcept { return once ? patience::once : patience::wait; }

/// An entry that its owner has left, and may follow with another one at once.
struct former_place {
  std::string node;
  fencing_token next;    // larger than those given out with it
  bool contended;        // it had to wait for other contenders
  std::string last;      // the name of the last contender behind when it was let in; empty: not known
  std::uint32_t behind;  // how many contenders were behind
};

/// One entry in a queue, from the creation of its node to its deletion: a state machine that is driven by replies,
/// watches and the session. With the monitor held.
///
/// Enqueue: create and list back to back, one round trip; or one transaction, see `leave_for_another`.
/// Admission: a pure function of the list.
/// Wait: one watch, on the one node that blocks the entry. Neighbours need neither list nor watch, see `neighbours`.
/// After a lost reply: sync, list, look for the unique name of the node.
/// Leave: the reaper sees to the deletion of the node.
class queue_entry final : public session_observer, public holder, public std::enable_shared_from_this<queue_entry> {
 public:
  /// @param path absolute path of the lock; shared by its entries
  /// @param line the entries among which it finds its neighbours; may be empty
  queue_entry(std::shared_ptr<client_core> core, std::shared_ptr<const std::string> path, contender_kind kind,
              entry_listener& listener, std::shared_ptr<neighbours> line = {});
  ~queue_entry();
  queue_entry(const queue_entry&) = delete;
  queue_entry& operator=(const queue_entry&) = delete;

  /// Begins to queue. The listener is told of the outcome later.
  /// @param former what `leave_for_another` of the previous entry has returned: its node is deleted together with the
  /// creation of the new one, if one transaction can do both.
  void start(patience how, std::unique_ptr<former_place> former = {});

  /// Leaves the queue, in whatever state it is. The listener is told nothing more; no node stays behind.
  void leave();

  /// As `leave`, but the node is kept for a moment (`reaper::remove_soon`) for the next entry.
  /// @param turn the number of the next turn; 0 if there was none yet
  /// @returns what to give to the next entry; nothing if it could not use it.
  std::unique_ptr<former_place> leave_for_another(std::uint32_t turn);

  /// @pre granted. @returns whether the grant can be relied on now. If not, a proof is asked for: when it arrives the
  /// listener is told `on_granted`, otherwise the entry queues again.
  bool refresh(time_point now);
  bool refresh() { return refresh(core_->monitor().now()); }

  /// @pre granted, and a caller relies on that. Asks for a proof, after which the listener is told `on_granted` again,
  /// `on_unconfirmed`, or the loss; nothing if it calls `refresh()` meanwhile. @returns false if no proof can be asked
  /// for now.
  bool confirm();

  /// What the entry does when it is no longer granted.
  void set_patience(patience how) noexcept { patience_ = how; }

  /// @pre granted. The grant is not needed until `refresh()`: no proofs are sent.
  void stop_proving();

  /// @pre granted, a writer. Becomes a reader in its own place, in one transaction; then tells `on_downgraded`.
  void downgrade();

  /// The parent of every entry in `line` has been deleted, and their nodes with it.
  static void on_parent_gone(neighbours& line);

  /// Replaces the listener.
  void listen(entry_listener& listener) noexcept { listener_ = &listener; }

  bool granted() const noexcept { return state_ == state::granted; }

  /// @returns whether it will be granted once the session is proved alive and its node seen; that is under way.
  bool proving() const noexcept { return state_ == state::proving || state_ == state::confirming; }

  /// @returns the absolute path of the node; empty before it is known.
  const std::string& node() const noexcept override { return node_; }

  /// @returns the first part of the fencing token: the czxid of the node, or that of the node ahead plus one if no more
  /// is known. An entry that follows directly on a former one of ours takes its czxid, and goes on with its turns.
  std::int64_t czxid() const noexcept { return czxid_; }

  /// @returns the number of the first of its turns.
  std::uint32_t first_turn() const noexcept { return first_turn_; }

 private:
  enum class state : std::uint8_t {
    disconnected,  ///< waits for a connection
    peeking,       ///< a try: lists whether a contender is there
    enqueuing,     ///< create and list are under way
    recovering,    ///< the reply to the create was lost: looks for our node
    looking,       ///< lists the contenders ahead
    watching,      ///< waits for the blocker to go
    following,     ///< waits for the neighbour ahead, one of ours, to leave
    confirming,    ///< let in without a list: reads whether its own node is still there
    proving,       ///< let in; the session has yet to be proved alive
    granted,
    replacing,  ///< granted; the node of the writer gives way to that of a reader
    over,
  };

  /// Of one that waits for a node (most have a neighbour to wait for): those ahead. Of one that a list has let in:
  /// those behind.
  struct others {
    std::string name;         // of the nearest but one ahead, may be empty; of the last behind
    std::uint32_t count = 0;  // how many there are
    watch_id watch{};         // on the nearest ahead
  };

  void on_connected() override;
  void on_session_over() override;
  void on_failure(const failure& why) override;
  void on_deletion_refused(const std::string& node) override;
  void on_suspect() override { listener_->on_suspect(); }
  void on_lost(loss_reason why) override;
  void on_proved() override;
  void on_unproved() override;
  void on_node_seen(bool asked_to_release) override;
  void on_node_gone() override;
  void on_node_unseen(reply_code why) override;

  void begin(std::unique_ptr<former_place> former = {});
  void queue_again();
  void peek();
  void on_peeked(const reply& listed);
  std::vector<std::string> of_others(const std::vector<std::string>& children) const;
  void enqueue(std::unique_ptr<former_place> former = {});
  void send_create(const std::shared_ptr<former_place>& former = {});
  void on_created(reply& created);
  void on_requeued(const former_place& former, bool listed);
  void identify();
  void on_enqueued(const reply* listed);
  bool take_number();
  void make_parents();
  void on_parent_made(const std::string& parent, reply_code code);
  void recover();
  void on_recovered(const reply& listed);
  void adopt(const std::string& found, const reply& read);
  void look();
  void decide(const reply& listed);
  void watch(const std::string& blocker);
  bool follows_on(std::string_view other) const;
  bool bounds_our_czxid(std::string_view blocker) const;
  void on_watch_set(const std::string& blocker, const reply& read);
  void on_blocker_event(const std::string& blocker, watch_event event);
  void on_blocker_gone(const std::string& blocker);
  void look_again();
  void find_neighbour();
  queue_entry* neighbour(std::string_view name) const;
  void follow(queue_entry& ahead);
  void step_out();
  void lose_neighbours();
  void forget_line();
  void admitted();
  void admitted(const admission& seen);
  void admitted_by_neighbour();
  void confirm_node();
  void let_in();
  void prove();
  void grant();
  void begin_to_hold();
  void replace();
  void on_replaced(reply_code code);
  void recover_replacement();
  void become_reader();
  void await_connection();
  void delayed();
  void resume();
  void refuse();
  bool refuse_behind_own(const std::vector<std::string>& children);
  void exhausted();
  void fail(errc code, std::string what);
  bool explain(reply_code code);
  void finish();
  void forget_watch();
  void release_node();
  void forget_node();

  template <class Callable>
  session::reply_callback unless_stale(Callable what);
  session& through() noexcept { return core_->session(); }

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const std::string> path_;
  entry_listener* listener_;
  const std::shared_ptr<neighbours> line_;
  // Packed: many entries may wait.
  contender_kind kind_;
  patience patience_ = patience::wait;
  state state_ = state::over;
  reply_code created_{};
  bool create_lost_ = false;       // its reply is; the node may be there
  std::uint8_t parents_made_ = 0;  // how often
  bool queued_ = false;            // the listener knows
  bool waited_ = false;            // for a contender ahead
  bool first_ = false;             // no contender is ahead any more
  std::uint32_t first_turn_ = 0;
  std::uint64_t observing_ = 0;
  std::uint64_t step_ = 0;  // counts what has been begun; answers to an earlier step are stale

  std::string prefix_;  // of our node's name, unique
  std::string node_;
  std::int64_t czxid_ = 0;  // of our tokens; 0: not known yet
  std::unique_ptr<failure> parent_failure_;

  std::optional<std::uint32_t> number_;       // while it is in line_
  queue_entry* following_ = nullptr;          // the neighbour ahead
  queue_entry* follower_ = nullptr;           // the neighbour behind
  std::unique_ptr<std::string> replacement_;  // the path of the reader's node to be

  std::unique_ptr<others> others_;
};

/// Wraps a callback so that it runs only if nothing else has begun since, and keeps the entry alive until then.
template <class Callable>
session::reply_callback queue_entry::unless_stale(Callable what) {
  return [self = shared_from_this(), step = step_, what = std::move(what)](reply& answer) {
    if (self->step_ == step) what(*self, answer);
  };
}

}  // namespace latchkey::detail
