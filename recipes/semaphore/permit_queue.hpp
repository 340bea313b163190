// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How one semaphore object gets leases from the ensemble.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/checked_state.hpp"
#include "queue/queue_entry.hpp"
#include "queue/watched_children.hpp"
#include "recipes/agreed_number.hpp"
#include "recipes/semaphore/permit.hpp"

namespace latchkey::detail {

/// Told how it goes.
class permit_queue_listener {
 public:
  /// @param waited whether others were ahead, or there were too few permits
  virtual void on_collected(const std::shared_ptr<permit>& what, bool waited) = 0;
  /// A try: others wait, there are too few permits, or there is no connection.
  virtual void on_turn_refused() = 0;
  /// The turn is lost.
  virtual void on_turn_lost() = 0;
  virtual void on_queue_failed(const failure& why) = 0;
  /// There may be another number of permits.
  virtual void on_permits_changed() = 0;
  /// @returns whether other calls wait behind the one that the permits are for.
  virtual bool more_wait() const = 0;

 protected:
  ~permit_queue_listener() = default;
};

/// The wait for permits at the ensemble, of one call at a time. An entry in `<path>/locks`, the turn, orders those who
/// wait; the first creates its leases, and counts those up to its own until there are no more than permits. A permit
/// that is likely free is taken without a turn.
///
/// | state      | event                              | then                                                     |
/// |------------|------------------------------------|----------------------------------------------------------|
/// | idle       | take                               | queueing; trying if the permit is likely free            |
/// | trying     | few enough leases, none waits      | collected                                                |
/// | trying     | others wait, or too many leases    | gives the leases up, and is queueing                     |
/// | queueing   | the turn has come                  | collecting: creates the leases, and lists                |
/// | queueing   | the same, after a wait, for one    | lists; if there is room, passed on: one transaction      |
/// |            |                                    | creates the lease and deletes the turn; else collecting  |
/// | collecting | too many leases                    | waits for a change, and lists again                      |
/// | collecting | a lease is gone                    | collecting, with new ones                                |
/// | collecting | few enough, with ours              | collected, once the number is agreed                     |
/// | passed on  | as collecting; a lease is gone     | queueing                                                 |
/// | any        | the turn is lost                   | idle                                                     |
class permit_queue final : public place_listener,
                           public permit_owner,
                           public std::enable_shared_from_this<permit_queue> {
 public:
  /// @param path of the semaphore, below the chroot
  permit_queue(std::shared_ptr<client_core> core, const std::string& path, std::uint32_t permits, bool contract,
               permit_queue_listener& listener);

  /// Begins to wait, or goes on, perhaps for another number of permits. @param once for a try
  void take(std::uint32_t count, bool once);
  void give_up();
  bool at_work() const noexcept { return state_ != state::idle; }
  /// @returns whether this is the node of its turn.
  bool is_turn(std::string_view node) const noexcept { return turn_ && turn_->node() == node; }

  agreed_number& contract() noexcept { return *contract_; }
  const std::string& locks() const noexcept { return *locks_; }
  /// @returns the path below the chroot with the nodes that it waits for: locks, or leases.
  const std::string& waits_at() const noexcept { return waits_at_; }

  // Of the session:
  void on_connected();
  void on_session_over();
  void on_reassessed(const std::string& node);

 private:
  void on_granted() override;
  void on_delayed() override;
  void on_refused() override;
  void on_suspect() override {}
  void on_lost(loss_reason why) override;
  void on_failed(const failure& why) override;

  void on_seen(const std::vector<std::string>& children) override { count(children); }
  void on_ready(permit& which) override;
  void on_over(permit& which, loss_reason why) override;

  enum class state : std::uint8_t {
    idle,
    trying,      ///< has leases and no turn, and lists who waits
    unopposed,   ///< the same, and none waits
    queueing,    ///< waits for its turn
    collecting,  ///< has its turn, and leases
    passed_on,   ///< has leases, whose creation has deleted the turn
  };
  /// It may give up in every state, and then wait again.
  // clang-format off
  // to:                  idle   trying  unopposed  queueing  collecting  passed_on
  static constexpr transitions<6> may_follow{{
      /* idle       */ {true,  true,   false,     true,     false,      false},  // take
      /* trying     */ {true,  false,  true,      false,    false,      false},  // the turns are listed
      /* unopposed  */ {true,  false,  false,     false,    false,      false},
      /* queueing   */ {true,  false,  false,     true,     true,       true},   // the turn has come
      /* collecting */ {true,  false,  false,     true,     false,      false},  // leases are gone, or of no use
      /* passed_on  */ {true,  false,  false,     false,    false,      false},
  }};
  // clang-format on

  bool tries_without_turn() const noexcept { return state_ == state::trying || state_ == state::unopposed; }
  bool is_first() const noexcept {
    return state_ == state::passed_on || (turn_ && (turn_->granted() || turn_->proving()));
  }
  bool may_conclude() const noexcept { return turn_ ? turn_->granted() : state_ != state::trying; }
  /// Only while the number stays the same do leases that were created after ours not count.
  bool is_outdated() const noexcept { return !turn_ && contract_->edition() != edition_; }
  bool few_enough() const noexcept { return seen_ != 0 && seen_ <= contract_->number(); }
  void count(const std::vector<std::string>& children);
  void queue_up();
  void fall_back();
  void on_turns_listed(const reply& listed);
  void pass_turn_on();
  void collect(std::unique_ptr<kept_node> turn = {});
  void drop_leases();
  void refuse();
  void on_leases_listed(const reply& listed);
  void on_too_many();
  void refuse_behind_own();
  void look_for_lock();
  void on_contract(const std::optional<failure>& failed);
  void conclude();

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const std::shared_ptr<const std::string> locks_;
  const std::shared_ptr<const std::string> leases_path_;
  std::string waits_at_;
  permit_queue_listener& listener_;
  std::shared_ptr<agreed_number> contract_;
  std::shared_ptr<watched_children> list_;
  std::shared_ptr<watched_children> turns_;
  std::shared_ptr<queue_entry> turn_;
  std::unique_ptr<kept_node> former_;
  std::shared_ptr<permit> leases_;
  std::uint32_t count_ = 0;
  bool once_ = false;
  checked_state<state, may_follow> state_ = state::idle;
  edition edition_;                   // of the number, when it began without a turn
  std::size_t seen_ = 0;              // leases in the last list that shows all of ours; 0: there is none
  std::vector<std::string> refused_;  // of them, those of ours that may not be deleted
  bool waited_ = false;
  bool looked_for_lock_ = false;
  bool likely_free_ = false;  // the last call found none ahead, and enough permits
};

}  // namespace latchkey::detail
