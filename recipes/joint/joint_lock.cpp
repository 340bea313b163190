// SPDX-License-Identifier: Apache-2.0
#include "recipes/joint/joint_lock.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/path.hpp"
#include "queue/long_wait.hpp"
#include "recipes/rules.hpp"
#include "session/transaction_size.hpp"

namespace latchkey::detail {
namespace {

/// Bytes of the name and the data of an entry, besides the label of the client.
constexpr std::size_t bytes_of_entry = 512;

std::vector<group_member> checked(const client_core& core, std::vector<group_member> members, std::size_t most) {
  std::set<std::string_view> paths;
  for (const auto& each : members) {
    require_lock_path(each.path, core.chroot());
    if (!paths.insert(each.path).second)
      throw error{errc::bad_option, "a path is named twice; name it once", each.path};
  }
  if (members.empty() || members.size() > most) {
    throw error{errc::bad_option, fmt::format("{} paths; give it 1 to {}", members.size(), most)};
  }
  std::size_t bytes = 0;
  const auto each_takes = bytes_of_creation(core.options()) + bytes_of_entry + core.options().label.size();
  for (const auto& each : members) bytes += core.absolute(each.path).size() + each_takes;
  if (bytes > most_transaction_bytes) {
    throw error{
        errc::too_large,
        fmt::format("to queue at {} paths is a transaction of {} bytes, more than {}; take fewer, or shorten the "
                    "paths or the ACL",
                    members.size(), bytes, most_transaction_bytes),
        members.front().path};
  }
  return members;
}

}  // namespace

joint_lock::joint_lock(std::shared_ptr<client_core> core, std::vector<group_member> members, group_goal goal,
                       std::size_t most, const std::string& group, duration max_hold)
    : joint_lock{core, checked(*core, std::move(members), most), goal,
                 cohort_options{.turns = 0, .group = group, .max_hold = max_hold}} {}

joint_lock::joint_lock(const std::shared_ptr<client_core>& core, std::vector<group_member> members, group_goal goal,
                       const cohort_options& options)
    : cohort{core, members.front().path, members.front().kind, options}, members_{std::move(members)}, goal_{goal} {
  require_not_negative("max_hold", options.max_hold, path_);
  line_.when_long([this](const long_wait& what) {
    const std::size_t holders = goal_ == group_goal::all ? 1 : 0;
    const auto look = [&](const group_member& each) {
      look_into_long_wait(*core_, {each.path, each.path, &rule_of(each.kind), holders}, what);
    };
    if (!place_) return;
    if (what.calls == 0) {
      if (const auto at = joint().refused_at()) look(members_[*at]);
    } else {
      for (const auto index : joint().waiting()) look(members_[index]);
    }
  });
}

std::optional<std::size_t> joint_lock::held_index() {
  return core_->monitor().run_unless_forked([this]() -> std::optional<std::size_t> {
    const auto* const mine = holders_.only();
    if (!mine) return std::nullopt;
    const auto is_held = [&](const group_member& each) { return each.path == mine->grant->path(); };
    return std::find_if(members_.begin(), members_.end(), is_held) - members_.begin();
  });
}

}  // namespace latchkey::detail
