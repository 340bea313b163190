// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The readers of one lock object, who share entries.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "recipes/shared_entry.hpp"

namespace latchkey::detail {

struct readers_options {
  duration share_for{};  ///< how long further readers may join once a remote waiter is known
  duration linger{};     ///< how long an entry without readers is kept; zero: not at all
  std::string group{};   ///< of locks whose numbers it counts for
  duration max_hold{};   ///< how long one reader may hold; zero: for ever
};

/// The first reader creates an entry, its place in the queue. Readers that come while it is granted join it without a
/// request (with a proof, if none is fresh): as long as no remote contender waits for the readers to end, and for a
/// bounded time otherwise. A later reader takes a new place, behind those that wait; the earlier one ends with the last
/// of its readers. Each reader has a grant and a token of its own. With the monitor held.
class reader_group final : public shared_entry {
 public:
  /// @param path as the user calls it; below the chroot
  reader_group(std::shared_ptr<client_core> core, std::string path, readers_options options);

  std::shared_ptr<waiter> enter(std::uint64_t fiber, time_point until);
  /// @returns whether the fiber was reading.
  bool leave(std::uint64_t fiber);

  bool is_reading(std::uint64_t fiber) const { return members_.contains(fiber); }
  /// @returns whether `unlock_shared()` on this fiber is for it: not if it has a guard.
  bool unlocks(std::uint64_t fiber) const;
  /// @pre is_reading(fiber). It has a guard, which alone ends its reading.
  void give_guard(std::uint64_t fiber) { members_.at(fiber).guarded = true; }
  /// @pre is_reading(before). Its guard has been moved.
  void rename(std::uint64_t before, std::uint64_t after);
  bool any() const noexcept { return !members_.empty(); }
  grant current(std::uint64_t fiber) const;

  /// The fiber becomes a reader of the entry `granted`, in which writers have had `turns` turns.
  void adopt(std::shared_ptr<queue_entry> granted, std::uint32_t turns, std::uint64_t fiber);
  time_point end_overdue(time_point now) override;

 private:
  class place;
  struct member {
    std::shared_ptr<place> where;  // empty: it has held for too long
    std::shared_ptr<grant_state> grant;
    bool guarded = false;
  };
  using members = std::unordered_map<std::uint64_t, member>;  // by their fibers

  bool in_use() const noexcept override;
  void for_each_grant(const std::function<void(grant_state&)>& what) override { for_members_of(*newest_, what); }
  void let_in(time_point now) override;
  void go_on(time_point now) override;
  void let_go() override;
  void granted_at(time_point now) override;
  void on_unconfirmed() override;
  void on_lost(loss_reason why) override;
  void on_remote_waiters() override;

  void join_all(time_point now);
  void join(const std::shared_ptr<place>& where, std::uint64_t fiber, const std::string& node, fencing_token fence,
            time_point now);
  bool leave_place(member& who);
  void take_another();
  void for_members_of(const place& where, const std::function<void(grant_state&)>& what);

  const duration share_for_;
  time_point shared_until_ = never;
  std::shared_ptr<place> newest_;  // of the shared entry
  members members_;
  std::vector<members::node_type> spare_;
};

}  // namespace latchkey::detail
