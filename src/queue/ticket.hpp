// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A place in the queue of one lock path: the queue protocol.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/node_name.hpp"
#include "queue/admission.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// Hears what becomes of a ticket. With the strand held; never inside a call to the ticket.
class ticket_listener {
 public:
  virtual void on_granted() = 0;
  /// Of a try: somebody else has the lock, or the ensemble is out of reach. The ticket is over.
  virtual void on_refused() = 0;
  virtual void on_suspect() = 0;
  /// The grant is lost. The ticket is over.
  virtual void on_lost(loss_reason why) = 0;
  /// Waiting cannot mend it. The ticket is over.
  virtual void on_failed(const failure& why) = 0;

 protected:
  ~ticket_listener() = default;
};

/// How a ticket is to be had.
enum class patience {
  wait,  ///< until it is granted: through outages, lost sessions and deletions by operators
  once,  ///< only if nobody is ahead
};

/// One place in a queue, from the creation of its node to its deletion: a state machine that replies, watches and the
/// session drive. With the strand held.
///
/// Enqueue: create and list back to back, one round trip. Admission: a pure function of the list. Wait: one watch, on
/// the one node that blocks us. After a lost reply: sync, list, look for our unique name. Leave: the reaper answers for
/// the node.
class ticket final : public session_observer, public holder, public std::enable_shared_from_this<ticket> {
 public:
  /// @param path absolute path of the lock
  ticket(std::shared_ptr<client_core> core, std::string path, contender_kind kind, ticket_listener& listener);
  ~ticket();
  ticket(const ticket&) = delete;
  ticket& operator=(const ticket&) = delete;

  /// Begins. The listener hears of the outcome later.
  void start(patience how);

  /// Gives the place up, at whatever point it is. The listener hears nothing any more; nothing stays behind.
  void leave();

  /// @pre granted. Proves that the grant still stands; the listener then hears `on_granted`, or of the loss.
  void renew();

  bool granted() const noexcept { return state_ == state::granted; }

  /// @returns the absolute path of the node; empty before it is known.
  const std::string& node() const noexcept override { return node_; }

  /// @returns what orders the grants of this path.
  std::int64_t czxid() const noexcept { return czxid_; }

 private:
  enum class state {
    disconnected,  ///< waits for a connection
    peeking,       ///< of a try: is anybody there?
    enqueuing,     ///< create and list are under way
    recovering,    ///< the reply to the create was lost: is our node there?
    looking,       ///< who is ahead?
    watching,      ///< the blocker's going is awaited
    proving,       ///< let in; the session has yet to be proved alive
    granted,
    over,
  };

  void on_connected() override;
  void on_session_over() override;
  void on_failure(const failure& why) override;
  void on_suspect() override { listener_->on_suspect(); }
  void on_lost(loss_reason why) override;

  void begin();
  void peek();
  void on_peeked(const reply& listed);
  void enqueue();
  void send_create();
  void on_created(reply& created);
  void on_enqueued(const reply& listed);
  void make_parents();
  void on_parent_made(const std::string& parent, reply_code code);
  void recover();
  void on_recovered(const reply& listed);
  void adopt(const std::string& found, const reply& read);
  void look();
  void decide(const reply& listed);
  void watch(const std::string& blocker);
  void on_watch_set(const reply& read);
  void on_blocker_event(const std::string& blocker, watch_event event);
  void on_blocker_gone();
  void admitted();
  void prove();
  void on_checked(const reply& checked);
  void grant();
  void await_connection();
  void resume();
  void refuse();
  void exhausted();
  void fail(errc code, std::string what);
  bool explain(reply_code code);
  void finish();
  void release_node();
  void forget_node();

  template <class Callable>
  session::reply_callback unless_stale(Callable what);
  session& through() noexcept { return core_->session(); }

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const contender_kind kind_;
  ticket_listener* listener_;
  patience patience_ = patience::wait;
  state state_ = state::over;
  std::uint64_t observing_ = 0;
  std::uint64_t step_ = 0;  // counts what has been begun; answers to an earlier step are stale

  std::string prefix_;  // of our node's name, unique
  std::string node_;
  std::int64_t czxid_ = 0;
  reply_code created_{};
  bool create_lost_ = false;  // its reply is; the node may be there
  unsigned parents_made_ = 0;
  failure parent_failure_;

  std::string next_blocker_;  // a name; may be empty
  std::uint32_t blockers_ = 0;
  watch_id watch_;
};

/// Wraps a callback so that it runs only if nothing else has begun since, and keeps the ticket alive until then.
template <class Callable>
session::reply_callback ticket::unless_stale(Callable what) {
  return [self = shared_from_this(), step = step_, what = std::move(what)](reply& answer) {
    if (self->step_ == step) what(*self, answer);
  };
}

}  // namespace latchkey::detail
