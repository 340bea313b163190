// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The lock objects of keys, which live as long as they are used.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recipes/joint/joint_lock.hpp"
#include "recipes/keyed/contract.hpp"
#include "recipes/line/cohort.hpp"

namespace latchkey::detail {

/// Where the lock of a key is: below which path, and how many locks there are. Needs no ensemble.
class key_space {
 public:
  static constexpr std::size_t most_key_bytes = 200;

  /// @param stripes zero: a lock for each key
  /// @throws error bad_path
  key_space(std::string root, std::uint32_t stripes);

  /// @returns the name of the lock below the root. @throws error bad_path for a key that is empty or too long
  std::string name_of(std::string_view key) const;
  std::string path_of(const std::string& name) const { return root_ + '/' + name; }

  const std::string& root() const noexcept { return root_; }
  std::uint32_t stripes() const noexcept { return stripes_; }

 private:
  const std::string root_;
  const std::uint32_t stripes_;
};

/// The locks of the keys of one ensemble: a cohort for each key that a call waits for or holds, or that lingers, and for
/// `reaper::patience` after that, as a caller that comes back at once may follow on its former place. Users of a root
/// agree on the number of stripes: no caller is given a lock before that is known. Without the monitor, except where
/// stated.
class key_table final : public std::enable_shared_from_this<key_table> {
 public:
  /// The most locks that are taken together.
  static constexpr std::size_t most_keys = 64;

  key_table(std::shared_ptr<client_core> core, key_space keys, cohort_options options);
  void open();
  /// Releases what is held, ends every wait.
  void shut() noexcept;

  /// Waits: suspends the fiber or blocks the thread. @returns the guard of a key; an empty one if it was not taken.
  guard take(std::string_view key, duration timeout, std::stop_token stop);

  /// Several keys at once, of which those of one lock count as one.
  struct group {
    std::shared_ptr<joint_lock> lock;
    std::vector<std::size_t> keys;  ///< of each member the first key
  };
  group group_of(std::span<const std::string_view> keys, group_goal goal);
  /// As `take`, of a group that `group_of` has made.
  guard take(joint_lock& several, duration timeout, std::stop_token stop);

  /// The same without waiting.
  std::shared_ptr<pending<guard>> begin_guard(std::string_view key, duration timeout, std::stop_token stop);
  std::shared_ptr<pending<guard>> begin_guard(const std::shared_ptr<joint_lock>& several, std::stop_token stop);

  /// @returns how many locks are used now; none in a forked child.
  std::size_t size() const;

  // With the monitor: a call of `take` without its wait. A lock that it is granted may be used once users have agreed.
  struct call {
    std::shared_ptr<cohort> lock;
    std::shared_ptr<waiter> me;
  };
  call enter(const std::string& name, std::uint64_t fiber, time_point until);

 private:
  class key_lock;
  class key_call;
  struct idle_lock {
    std::shared_ptr<key_lock> lock;
    time_point since;
  };

  /// @returns what is left until `end` of a call with that timeout. From anywhere.
  duration time_to_agree(duration timeout, time_point end) const;
  guard if_agreed(guard held, duration timeout, time_point end, std::stop_token stop);
  void remember(const std::shared_ptr<joint_lock>& several);
  std::shared_ptr<key_lock> find(const std::string& name);
  void forget_idle();
  void drop(key_lock& idle);
  void refuse_all(const failure& why);

  const std::shared_ptr<client_core> core_;
  const key_space keys_;
  const cohort_options options_;
  lock_counts& counts_;
  const std::shared_ptr<contract> contract_;
  std::unordered_map<std::string, std::shared_ptr<key_lock>> locks_;
  std::size_t used_ = 0;        // of these
  std::deque<idle_lock> idle_;  // the others, and some that have been used since; the oldest first
  std::vector<std::weak_ptr<joint_lock>> groups_;
  std::size_t enough_ = 64;  // of them to look for those that have gone
};

}  // namespace latchkey::detail
