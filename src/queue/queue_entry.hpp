// SPDX-License-Identifier: Apache-2.0
#pragma once

/// An entry in the queue of one lock path: the queue protocol.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/repetition.hpp"
#include "queue/admission.hpp"
#include "queue/entry_state.hpp"
#include "queue/neighbours.hpp"
#include "queue/place.hpp"
#include "queue/predecessor.hpp"
#include "queue/rule.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// One entry in a queue, from the creation of its node to its deletion: a state machine that is driven by replies,
/// watches and the session.
///
/// What happens in its states (`entry_state` has the table of those that may follow), by file:
///
/// | state        | event                   | then                                                                |
/// |--------------|-------------------------|---------------------------------------------------------------------|
/// | over         | start                   | disconnected, and on at once if there is a connection               |
/// | disconnected | connected               | asks for what is missing: a node, the fate of a create, the list    |
/// | asking       | created, listed         | waiting for the nearest ahead, or let in (entry_enqueue, _requeue)  |
/// | asking       | answer lost             | disconnected, then sync and list: look for the node's unique name   |
/// | waiting      | the one ahead has gone  | let in if it was the only one; otherwise asks again (entry_wait)    |
/// | let in       |                         | confirming, proving or granted: what is not known is asked for      |
/// | confirming   | its node is there       | proving, or granted if a proof is fresh (entry_grant)               |
/// | proving      | a quorum has answered   | granted                                                             |
/// | granted      | refresh, no fresh proof | proving                                                             |
/// | granted      | downgrade               | asking, then granted as another kind                                |
/// | granted      | loss                    | over                                                                |
/// | any but over | its session is over,    | asking: a new create, at the end; with `patience::keep` it is       |
/// |              | its node was deleted    | refused instead                                                     |
/// | any          | leave, refused, failed  | over: the reaper sees to the deletion of the node                   |
class queue_entry final : public place,
                          public session_observer,
                          public holder,
                          public neighbour,
                          public follower,
                          public std::enable_shared_from_this<queue_entry> {
 public:
  /// @param path absolute path of the lock; shared by its entries
  /// @param kind what it is, and what it waits for
  /// @param line the entries among which it finds its neighbours; may be empty
  /// @param how it learns of the release ahead, and announces its own; a `kind` that is not exclusive needs `ensemble`
  queue_entry(std::shared_ptr<client_core> core, std::shared_ptr<const std::string> path, const rule& kind,
              place_listener& listener, std::shared_ptr<neighbours> line = {}, hand_off how = hand_off::ensemble);
  ~queue_entry();
  queue_entry(const queue_entry&) = delete;
  queue_entry& operator=(const queue_entry&) = delete;

  void start(patience how, std::unique_ptr<kept_node> former = {}) override;

  /// As `start`, for several entries, perhaps of several queues. One transaction creates their nodes: all or none. If an
  /// entry finds that its node was not created, or has been deleted, or that its session has ended, then it is refused,
  /// whatever `how` says: it never creates a node by itself. If the ensemble refuses the transaction for one of them,
  /// that one fails and the others are refused. Costs one round trip for all.
  /// @pre connected; they are of one client, have no neighbours, and have not been started
  static void start_together(const std::vector<std::shared_ptr<queue_entry>>& all, patience how);

  /// @param children of its path
  /// @returns whether it would have to wait if it were created now.
  bool would_wait(const std::vector<std::string>& children) const;
  /// Fails if it would wait for a node of this client that the ensemble does not let us delete.
  /// @param children of its path. @returns whether it has failed
  bool refuse_behind_own(const std::vector<std::string>& children);

  /// Fails if `code`, of a list of its path, is a failure that waiting cannot fix. @returns false if the request is to be
  /// repeated, now or with the next connection; true if it is not, for which there may be an end of the session, too.
  bool explain(reply_code code);

  void leave(bool closed = false) override;
  /// As `leave`, for several entries of one client: one transaction deletes their nodes, if the connection is there.
  static void leave_together(const std::vector<std::shared_ptr<queue_entry>>& all);

  std::unique_ptr<kept_node> leave_for_another(std::uint32_t turn, bool closed = false) override;

  bool refresh(time_point now) override;
  bool refresh() { return refresh(core_->monitor().now()); }

  /// @pre granted, and a caller relies on that. Asks for a proof, after which the listener is told `on_granted` again,
  /// `on_unconfirmed`, or the loss; nothing if it calls `refresh()` meanwhile. @returns false if no proof can be asked
  /// for now.
  bool confirm();

  void set_patience(patience how) noexcept override { patience_ = how; }
  void stop_proving() override;

  /// @pre granted; its rule names a kind to become. Becomes that in its place, then tells `on_downgraded`.
  void downgrade();

  bool granted() const noexcept { return state_ == state::granted; }
  /// @returns whether it has ended, and has left its node, or one that is being made, to its listener.
  bool spared() const noexcept { return !spared_.empty(); }

  /// @returns whether it will be granted once its node has been seen and the session proved alive.
  bool proving() const noexcept { return state_ == state::proving || state_ == state::confirming; }

  bool waited() const noexcept override { return waited_; }
  const std::string& node() const noexcept override { return node_; }

  /// The czxid of the node, and the number of the turn. An entry that follows directly on a former one of ours takes its
  /// czxid, and goes on with its turns.
  fencing_token fence(std::uint32_t turn) const noexcept override { return {czxid_, turn}; }
  std::uint32_t first_turn() const noexcept override { return first_turn_; }

 private:
  using state = entry_state;

  /// Those behind, when a list has let it in.
  struct behind {
    std::string last;
    std::uint32_t count = 0;
  };

  void on_connected() override;
  void on_session_over() override;
  void on_failure(const failure& why) override;
  void on_reassessed(const std::string& node) override;
  void on_suspect() override { listener_->on_suspect(); }
  void on_lost(loss_reason why) override;
  void on_proved() override;
  void on_unproved() override;
  bool begin_release() override;
  void end_release(bool gone) override;
  void on_node_seen(bool asked_to_release, std::int64_t czxid) override;
  void on_node_gone() override;
  void on_node_unseen(reply_code why) override;
  void on_ahead_gone(bool last) override;
  void on_ahead_released() override;
  void on_next() override;
  void on_ahead_unseen(reply_code why) override;
  detail::outlook& outlook() noexcept override { return outlook_; }
  pace* queue_pace() noexcept override { return listener_->queue_pace(); }
  void on_neighbours_forgotten() override { look_again(); }
  void on_parent_gone() override;
  std::shared_ptr<neighbour> keep_alive() override { return shared_from_this(); }

  // queue_entry.cpp
  void become(state next);
  void begin(std::unique_ptr<kept_node> former = {});
  void queue_again();
  void await_connection();
  void delayed();
  void resume();
  void refuse();
  void exhausted();
  void fail(errc code, std::string what) { fail({code, std::move(what), {}}); }
  void fail(failure why);
  void finish();
  void forget_predecessor();
  void release_node(bool closed = false);
  void forget_node();
  bool tell_peers(bool closed);
  void bind_node(bool closed);
  void forget_peers();

  // entry_enqueue.cpp
  std::string record() const;
  std::string new_prefix() const;
  void peek();
  void on_peeked(const reply& listed);
  void enqueue();
  void create_and_list();
  request creation();
  void submit_create(request what, std::uint64_t along, std::function<void(queue_entry&)> then);
  bool on_created(std::uint64_t step, const std::string& prefix, reply& created);
  void list_along();
  void on_enqueued(const reply* listed);
  bool take_number();
  void create_again();
  std::optional<duration> pause_before_next(reply_code why);
  void submit_parents(std::set<std::string>& asked);
  void recover();
  void on_recovered(const reply& listed);
  void adopt(const std::string& found, const reply& read);

  // entry_together.cpp
  struct joined {
    std::shared_ptr<queue_entry> who;
    std::uint64_t step = 0;
    std::string prefix;
  };
  static bool waits(const joined& each) { return each.who->step_ == each.step; }
  static void create_together(const std::vector<std::shared_ptr<queue_entry>>& all, std::size_t parents_from);
  static void on_created_together(const std::vector<joined>& all, reply& created);
  static void on_refused_together(const std::vector<joined>& all, const reply& refused);

  // entry_requeue.cpp
  bool requeue(std::unique_ptr<kept_node> former);
  void on_requeued(const kept_node& former, bool listed);
  bool follows_on(const rule& kind, std::string_view other, std::uint32_t used) const;

  // entry_wait.cpp
  void look();
  void look_again();
  void decide(const reply& listed);
  bool is_last_of_its_kind(const std::vector<std::string>& children) const;
  void wait_behind(const std::string& name);
  void confirm_release();
  void admitted_by_release();
  bool follow(std::string_view name);
  void wait_for_neighbour();
  void step_out();

  detail::peers* peers() const noexcept { return how_ == hand_off::ensemble ? nullptr : core_->peers(); }

  // entry_grant.cpp
  bool unseen() const;
  void admitted();
  void admitted(const admission& seen);
  void admitted_by_neighbour();
  void confirm_node();
  void let_in();
  void prove();
  void grant();
  void begin_to_hold(time_point now);
  void replace();
  void on_replaced(reply_code code);
  void recover_replacement();
  void take_replacement();

  template <class Callable>
  auto unless_stale(Callable what);
  session& through() noexcept { return core_->session(); }

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const std::string> path_;
  const std::shared_ptr<neighbours> neighbours_;
  const rule* kind_;
  const hand_off how_;
  patience patience_ = patience::wait;
  checked_state<state, may_follow> state_ = state::over;
  reply_code created_{};
  bool create_lost_ = false;  // its reply is; the node may be there
  repetition creates_;        // for want of its path, or of room
  bool owing_ = false;        // own nodes were being deleted when the create was sent: they may take the room
  bool queued_ = false;       // the listener knows
  bool waited_ = false;       // for a contender ahead
  bool first_ = false;        // no contender is ahead any more
  bool joint_ = false;        // its node is created along with others, or not at all
  bool releasing_ = false;    // a transaction that deletes its node is under way
  std::uint32_t first_turn_ = 0;
  std::uint64_t observing_ = 0;
  std::uint64_t step_ = 0;  // counts what has been begun; answers to an earlier step are stale

  std::string spared_;  // the name of a node that the listener deletes
  std::string prefix_;  // of our node's name, unique
  std::string node_;
  std::int64_t czxid_ = 0;  // of our tokens; 0: not known yet
  std::unique_ptr<failure> parent_failure_;
  std::unique_ptr<std::string> replacement_;  // the path of the node to be, of another kind
  detail::outlook outlook_;
  std::shared_ptr<predecessor> predecessor_;
  std::unique_ptr<behind> behind_;
};

/// Wraps a callback so that it runs only if nothing else has begun since, and keeps the entry alive until then.
template <class Callable>
auto queue_entry::unless_stale(Callable what) {
  return detail::unless_stale{shared_from_this(), &queue_entry::step_, std::move(what)};
}

}  // namespace latchkey::detail
