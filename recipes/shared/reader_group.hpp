// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The readers of one lock object, who share entries.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "recipes/line/shared_place.hpp"

namespace latchkey::detail {

struct readers_options {
  duration share_for{};  ///< how long further readers may join once a remote waiter is known
  duration linger{};     ///< how long an entry without readers is kept; zero: not at all
  std::string group{};   ///< of locks whose numbers it counts for
  duration max_hold{};   ///< how long one reader may hold; zero: for ever
};

/// The first reader takes a place in the queue. Readers that come while it is granted join it without a
/// request (with a proof, if none is fresh): as long as no remote contender waits for the readers to end, and for a
/// bounded time otherwise. A later reader takes a new place, behind those that wait; the earlier one ends with the last
/// of its readers. Each reader has a grant and a token of its own.
class reader_group final : public shared_place {
 public:
  /// @param path as the user calls it; below the chroot
  reader_group(std::shared_ptr<client_core> core, std::string path, readers_options options);

  /// The fiber becomes a reader of the place `granted`, in which writers have had `turns` turns.
  void adopt(std::shared_ptr<place> granted, std::uint32_t turns, std::uint64_t fiber);

 private:
  class crowd;
  static const wording among_readers;

  bool is_hopeless(std::uint64_t fiber) override { return holders_.find(fiber) || state_ == state::delayed; }
  void end(hold& mine, time_point now) override;
  bool in_use() const noexcept override;
  void for_each_grant(const std::function<void(grant_state&)>& what) override { for_members_of(*newest_, what); }
  void let_in(time_point now) override;
  void go_on(time_point now) override;
  void end_all() override;
  void granted_at(time_point now) override;
  void on_overdue(hold& which) override;
  void on_unconfirmed() override;
  void on_lost(loss_reason why) override;
  void on_remote_waiters() override;

  void join_all(time_point now);
  void join(const std::shared_ptr<crowd>& where, std::uint64_t fiber, const std::string& node, fencing_token fence,
            time_point now);
  bool leave_crowd(std::shared_ptr<place_listener> left);
  void take_another();
  void for_members_of(const crowd& where, const std::function<void(grant_state&)>& what);

  const duration share_for_;
  time_point shared_until_ = never;
  std::shared_ptr<crowd> newest_;  // that of the present place
};

}  // namespace latchkey::detail
