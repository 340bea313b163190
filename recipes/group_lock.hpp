// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A lock object that holds several locks, or one of several.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "queue/wait_list.hpp"
#include "recipes/lock_object.hpp"
#include "recipes/place_group.hpp"

namespace latchkey::detail {

struct group_options {
  std::string group{};  ///< of locks whose numbers it counts for
  duration max_hold{};  ///< how long one caller may hold; zero: for ever
};

/// The callers of one object hold one after another, in the order of their arrival. The first of those that wait has a
/// `place_group`; if it gives up, the next one goes on with that. May be made for one call: its guard keeps it alive.
class group_lock final : public lock_calls<group_lock>,
                         public group_listener,
                         public session_observer,
                         public std::enable_shared_from_this<group_lock> {
 public:
  /// @param members at least one; the path of the first stands for all in errors
  /// @throws error bad_path; bad_option if there are none, more than `most`, or two with the same path
  group_lock(std::shared_ptr<client_core> core, std::vector<group_member> members, group_goal goal, std::size_t most,
             const group_options& options);
  /// Releases what is held, ends every wait. Without the monitor.
  void shut() noexcept;

  /// @returns which member is held; nothing if none is. Without the monitor.
  std::optional<std::size_t> held_index();
  const std::string& path() const noexcept { return path_; }

  void release_grant(std::uint64_t holder, const grant& what) noexcept override;

  // With the monitor:
  std::shared_ptr<waiter> enter(std::uint64_t fiber, time_point until);
  void cancel(const std::shared_ptr<waiter>& who);
  hold* holding(std::uint64_t /*fiber*/) noexcept { return holders_.only(); }
  void leave(std::uint64_t fiber = 0);
  /// Of the limit of its holders.
  time_point end_overdue(time_point now);

 private:
  friend class lock_calls<group_lock>;

  static constexpr auto call_to_unlock = "unlock()";
  bool abandoned() const { return holders_.abandoned(); }

  void on_granted() override;
  void on_refused() override;
  void on_suspect() override;
  void on_lost(loss_reason why) override;
  void on_failed(const failure& why) override;
  void on_asked_to_release() override;

  void on_connected() override {}
  void on_session_over() override {}
  void on_failure(const failure& why) override;

  void take();
  void give_up();
  void rest();

  const std::shared_ptr<client_core> core_;
  const std::vector<group_member> members_;
  const group_goal goal_;
  const std::string path_;
  lock_counts& counts_;
  wait_list line_;
  lock_holders holders_;
  std::shared_ptr<place_group> places_;  // of the holder, or of the first that waits
  std::size_t index_ = 0;                // of goal `first`: the member that is held
  std::uint64_t observing_ = 0;          // while it is used
  bool shut_ = false;
};

}  // namespace latchkey::detail
