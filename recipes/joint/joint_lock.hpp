// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A lock object that holds several locks, or one of several.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipes/joint/joint_place.hpp"
#include "recipes/line/cohort.hpp"

namespace latchkey::detail {

/// Each of its callers has a place of its own, a joint one. May be made for one call: its guard keeps it alive.
class joint_lock final : public cohort {
 public:
  /// @param members at least one; the path of the first stands for all in errors
  /// @param group of locks whose numbers it counts for
  /// @param max_hold how long one caller may hold; zero: for ever
  /// @throws error bad_path; bad_option if there are no members, more than `most`, or two with the same path
  joint_lock(std::shared_ptr<client_core> core, std::vector<group_member> members, group_goal goal, std::size_t most,
             const std::string& group = {}, duration max_hold = {});

  /// @returns which member is held; nothing if none is. Without the monitor.
  std::optional<std::size_t> held_index();
  const std::string& path() const noexcept { return path_; }

 private:
  joint_lock(const std::shared_ptr<client_core>& core, std::vector<group_member> members, group_goal goal,
             const cohort_options& options);

  std::shared_ptr<place> make_place() override {
    return std::make_shared<joint_place>(core_, members_, goal_, *this, observing_);
  }
  const joint_place& joint() const noexcept { return static_cast<const joint_place&>(*place_); }
  void let_in(time_point now) override {
    holders_.rename(joint().lock());
    cohort::let_in(now);
    holders_.only()->grant->rest_on(joint().other_nodes());
  }
  /// One of its entries may fail while the others are held.
  void on_failed(const failure& why) override {
    shared_place::on_failure(why);
    if (in_use()) holders_.only()->grant->lose(loss_reason::access_revoked);
  }

  const std::vector<group_member> members_;
  const group_goal goal_;
};

}  // namespace latchkey::detail
