// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A place that the callers of one lock object share.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/checked_state.hpp"
#include "queue/grant_state.hpp"
#include "queue/queue_entry.hpp"
#include "queue/remote_waiters.hpp"
#include "queue/wait_list.hpp"
#include "recipes/line/anticipation.hpp"
#include "recipes/line/lazy_timer.hpp"
#include "recipes/line/lock_line.hpp"
#include "recipes/rules.hpp"

namespace latchkey::detail {

/// A line whose calls share a place. A `cohort` lets them in one after another, a `reader_group` together.
///
/// A place that no caller wants is kept, without proofs, for `linger` at most and as long as no remote contender waits.
/// An object that is not used is told nothing, and has no timer.
class shared_place : public lock_line, public place_listener, public session_observer {
 protected:
  enum class state : std::uint8_t {
    none,
    queueing,  ///< the next answer of the ensemble may grant it
    delayed,   ///< a contender is ahead, or the connection was lost
    granted,
    resting,  ///< granted, and kept without proofs
  };
  /// It may be given up, refused or lost in every state.
  // clang-format off
  // to:                none   queueing  delayed  granted  resting
  static constexpr transitions<5> may_follow{{
      /* none     */ {true,  true,     false,   true,    false},  // a call comes; a writer becomes a reader
      /* queueing */ {true,  true,     true,    true,    false},
      /* delayed  */ {true,  true,     true,    true,    false},  // its session is over
      /* granted  */ {true,  true,     true,    true,    true},   // to be proved; a downgrade without an answer; idle
      /* resting  */ {true,  false,    true,    true,    false},  // a call comes; its session is over
  }};
  // clang-format on

  /// @param path as the user calls it; below the chroot
  /// @param counts of the group of locks that it counts for
  /// @param linger how long the place is kept; zero: not at all
  /// @param max_hold how long one caller may hold; zero: for ever
  shared_place(std::shared_ptr<client_core> core, std::string path, contender_kind kind, lock_counts& counts,
               duration linger, duration max_hold, hand_off how, const wording& words = alone);
  ~shared_place() override = default;

  /// @returns an entry, if it is not overridden.
  virtual std::shared_ptr<place> make_place();
  /// @returns whether callers hold it by the place.
  virtual bool in_use() const noexcept { return !holders_.empty(); }
  /// Of those that rest on the place.
  virtual void for_each_grant(const std::function<void(grant_state&)>& what);
  /// Calls wait, and the place has just been granted, or proved again.
  virtual void let_in(time_point now) = 0;
  /// Calls wait, and the place has been granted before: may they use it, too?
  virtual void go_on(time_point now) = 0;
  /// Ends every grant.
  virtual void end_all() = 0;
  /// @returns whether no grant of the place is in use, and its end may be told to the process of the one behind.
  virtual bool closed() const noexcept { return false; }
  /// @returns whether a place may take over the token of the former one.
  virtual bool follows_on() const noexcept { return true; }
  /// It is not used any more. May be told again, from inside any of its calls.
  virtual void on_idle() {}
  /// `remote_waiters_` has an answer.
  virtual void on_remote_waiters();

  /// Does what can be done now for those who wait, or with a place that no caller wants.
  void advance(time_point now);
  void gate_opened() override;
  void rest_if_unwanted(time_point now);
  void refuse_tries();

  /// For the first call that waits. @pre there is no place
  void take();
  /// Lets go of the place, and of all that belongs to it.
  std::shared_ptr<place> release();
  void give_up();
  /// It is used from now on.
  void observe();
  void rest_if_unused() override;
  /// As `give_up`, for another place that will be taken at once.
  void give_up_for_another();
  /// The first call that waits wants it. @returns whether it was resting: then it needs `refresh`
  bool wake();
  /// @pre granted. @returns whether it can be relied on; if not, `let_in` follows.
  bool refresh(time_point now);
  struct turn {
    fencing_token fence;
    granted_by source{};
  };
  /// @pre granted. @returns that of the next caller.
  turn next_turn();

  bool granted() const noexcept { return state_ == state::granted || state_ == state::resting; }

  void on_granted() override { granted_at(core_->monitor().now()); }
  virtual void granted_at(time_point now);
  void on_lost(loss_reason why) override;
  void on_failure(const failure& why) override;

  const std::shared_ptr<const std::string> absolute_;
  const std::shared_ptr<remote_waiters> remote_waiters_;
  std::shared_ptr<place> place_;
  std::uint64_t observing_ = 0;  // while it is used
  checked_state<state, may_follow> state_ = state::none;
  bool used_ = false;    // a caller has been let in
  bool rested_ = false;  // since the last one
  bool asked_to_release_ = false;
  bool bound_ = false;       // a grant of it still means something to others than its callers
  bool releasing_ = false;   // a transaction that deletes its node is under way: it is not passed on
  std::uint32_t turns_ = 0;  // the number of the next turn

 private:
  void begin(const std::shared_ptr<waiter>& me) override;
  void withdraw(const std::shared_ptr<waiter>& me) override;
  void let_go() override;
  void on_delayed() override;
  void on_refused() override;
  void on_suspect() override;
  void on_failed(const failure& why) override { on_failure(why); }
  void on_asked_to_release() override;
  void on_releasing(bool yes) override { releasing_ = yes; }
  pace* queue_pace() noexcept override { return &pace_; }
  void on_connected() override {}
  void on_session_over() override;
  time_point end_linger(time_point now);

  const rule& kind_;
  const duration linger_;
  const hand_off how_;
  time_point until_;  // it rests
  lazy_timer rest_{core_->monitor()};
  anticipation anticipation_;
  pace pace_;
  std::unique_ptr<kept_node> former_;
};

}  // namespace latchkey::detail
