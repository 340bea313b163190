// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The readers of one lock object, who share entries.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "queue/grant_state.hpp"
#include "queue/linger.hpp"
#include "queue/queue_entry.hpp"
#include "queue/remote_waiters.hpp"
#include "queue/wait_list.hpp"
#include "recipes/rules.hpp"

namespace latchkey::detail {

struct readers_options {
  duration share_for{};  ///< how long further readers may join once a remote waiter is known
  duration linger{};     ///< how long an entry without readers is kept; zero: not at all
};

/// The first reader creates an entry, its place in the queue. Readers that come while it is granted join it without a
/// request (with a proof, if none is fresh): as long as no remote contender waits for the readers to end, and for a
/// bounded time otherwise. A later reader takes a new place, behind those that wait. Each reader has a grant and a
/// token of its own. With the monitor held.
class reader_group final : public session_observer, public std::enable_shared_from_this<reader_group> {
 public:
  /// @param path as the user calls it; below the chroot
  reader_group(std::shared_ptr<client_core> core, std::string path, readers_options options);
  ~reader_group();
  void open();
  /// Releases what is held, ends every wait.
  void shut();

  std::shared_ptr<waiter> enter(std::uint64_t fiber, limit how);
  void cancel(const std::shared_ptr<waiter>& who);
  /// @returns whether the fiber was reading.
  bool leave(std::uint64_t fiber);

  bool is_reading(std::uint64_t fiber) const { return members_.contains(fiber); }
  bool anybody() const noexcept { return !members_.empty(); }
  grant current(std::uint64_t fiber) const;

  /// The fiber becomes a reader of the entry `granted`, in which writers have had `turns` turns.
  void adopt(std::shared_ptr<queue_entry> granted, std::uint32_t turns, std::uint64_t fiber);

  /// No reader is admitted while `open` returns false, even if an entry is granted; `gate_opened()` asks again.
  void gate(std::function<bool()> open) { gate_ = std::move(open); }
  void gate_opened();

 private:
  friend class linger;
  class place;
  struct member {
    std::shared_ptr<place> where;
    std::shared_ptr<grant_state> grant;
  };
  using members = std::unordered_map<std::uint64_t, member>;  // by their fibers

  void on_connected() override {}
  void on_session_over() override;
  void on_failure(const failure& why) override;

  void let_in(const std::shared_ptr<place>& where);
  void join(const std::shared_ptr<place>& where, std::uint64_t fiber);
  member& add_member(std::uint64_t fiber, const std::string& node, fencing_token fence);
  void find_place();
  void take_place();
  void become_idle(const std::shared_ptr<place>& where, time_point now);
  bool lingers() const noexcept;
  void end_of_linger() { give_up(newest_); }
  void give_up(const std::shared_ptr<place>& where);
  void forget_newest();
  void granted(const std::shared_ptr<place>& where);
  void let_in_if_fresh(time_point now);
  void unconfirmed(const std::shared_ptr<place>& where);
  void refuse_tries();
  void rest_if_unwanted();
  void delayed(const std::shared_ptr<place>& where);
  void refused(const std::shared_ptr<place>& where);
  void lost(const std::shared_ptr<place>& where, loss_reason why);
  void failed(const std::shared_ptr<place>& where, const failure& why);
  void on_remote_waiters();
  template <class Callable>
  void for_members_of(const std::shared_ptr<place>& where, Callable what);

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const std::shared_ptr<const std::string> absolute_ = std::make_shared<const std::string>(core_->absolute(path_));
  const readers_options options_;
  std::uint64_t observing_ = 0;
  wait_list line_;                 // the calls that wait for newest_
  std::shared_ptr<place> newest_;  // which is waited for, or may be joined
  std::vector<std::shared_ptr<place>> places_;
  members members_;
  std::vector<members::node_type> spare_;
  std::shared_ptr<remote_waiters> remote_waiters_;
  time_point shared_until_ = never;
  linger linger_{core_->monitor(), options_.linger};  // of newest_
  std::function<bool()> gate_;
};

}  // namespace latchkey::detail
