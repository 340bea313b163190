// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Groups of locks on a calm ensemble.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "recipes/joint/joint_lock.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {

using detail::group_goal;
using detail::group_member;

/// A lock object that holds several locks, or one of several.
class simulated_group {
 public:
  simulated_group(simulated_client& client, std::vector<group_member> members, group_goal goal,
                  detail::duration max_hold = {})
      : client_{client},
        group_{std::make_shared<detail::joint_lock>(client.core(), std::move(members), goal, 16, std::string{},
                                                    max_hold)} {}
  ~simulated_group() { group_->shut(); }
  simulated_group(const simulated_group&) = delete;
  simulated_group& operator=(const simulated_group&) = delete;

  simulated_lock::call enter(std::uint64_t fiber = 1, detail::time_point until = detail::never) {
    return client_.run([&] { return group_->enter(fiber, until); });
  }
  simulated_lock::call try_to_enter() { return enter(1, detail::at_once); }
  void cancel(const simulated_lock::call& who) {
    client_.run([&] { group_->cancel(who); });
  }
  void leave() {
    client_.run([&] { group_->leave(); });
  }
  void shut() { group_->shut(); }
  grant held() { return group_->held(); }
  std::size_t index() { return group_->held_index().value(); }

 private:
  simulated_client& client_;
  const std::shared_ptr<detail::joint_lock> group_;
};

struct group_world : calm_world {
  std::vector<std::string> paths{"/a", "/b", "/c"};

  explicit group_world(std::uint64_t seed = 1) : calm_world{seed} {
    for (const auto& path : paths) ensemble.create_container(path);
    one.connector().forget_sent();
  }

  std::vector<group_member> members() const {
    std::vector<group_member> all;
    for (const auto& path : paths) all.push_back({path});
    return all;
  }
  bool granted(const simulated_lock::call& call) { return ends(call, outcome::granted); }
  /// @returns how many nodes are in each queue.
  std::vector<std::size_t> queues() {
    std::vector<std::size_t> sizes;
    for (const auto& path : paths) sizes.push_back(ensemble.children(path).size());
    return sizes;
  }
  /// @returns whether in the end there are so many in each queue.
  bool become(const std::vector<std::size_t>& sizes) {
    return eventually([&] { return queues() == sizes; });
  }
  bool nothing_is_left() {
    return eventually([&] {
      return queues() == std::vector<std::size_t>(paths.size()) && one.unfinished().empty() && two.unfinished().empty();
    });
  }
  std::string first_node(const std::string& path) { return path + "/" + ensemble.children(path).front(); }
  std::uint64_t sent(request_kind kind) { return one.connector().sent(kind); }
};

}  // namespace latchkey::testing
