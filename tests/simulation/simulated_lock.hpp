// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One lock object of a simulated client, of whatever kind.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <latchkey/grant.hpp>
#include <latchkey/guard.hpp>
#include <latchkey/pending.hpp>
#include <latchkey/robust_mutex.hpp>

#include "simulation/simulated_client.hpp"

namespace latchkey::testing {

enum class lock_family : std::uint8_t { turns, fair, shared, election, group, any, keys, permits, robust };

std::string_view to_string(lock_family family) noexcept;

struct lock_settings {
  lock_family family{};
  std::uint32_t turns = 16;
  duration linger{};
  duration share_for{};
  duration max_hold{};
  std::string id = "candidate";                 ///< of an election
  std::vector<detail::group_member> members{};  ///< of a group, or of any: its locks
  std::uint32_t permits = 1;                    ///< of a semaphore
  hand_off how = hand_off::ensemble;
  std::chrono::milliseconds lock_delay{};  ///< of a robust lock
};

/// What its callers do is said with the mode: to read, to write, or, of the other families, to lock. A caller of a
/// semaphore has one call, or one grant, at a time.
class simulated_lock {
 public:
  simulated_lock(simulated_client& client, std::string path, lock_settings settings);
  /// A key of a table, which others may use, too.
  simulated_lock(simulated_client& client, std::shared_ptr<detail::key_table> table, std::string key,
                 lock_settings settings);
  ~simulated_lock();
  simulated_lock(const simulated_lock&) = delete;
  simulated_lock& operator=(const simulated_lock&) = delete;

  using call = std::shared_ptr<detail::waiter>;
  using place = std::shared_ptr<detail::fair_place>;
  using mode = detail::contender_kind;

  /// What begins a call throws as the lock does.
  /// @param count of permits
  call enter(std::uint64_t fiber, mode what, detail::time_point until = detail::never, std::uint32_t count = 1);
  void cancel(const call& who, mode what);
  /// A call of a coroutine, whose guard leaves.
  std::shared_ptr<detail::pending<guard>> begin(mode what, duration timeout, std::uint32_t count = 1);
  void leave(std::uint64_t fiber, mode what);
  call downgrade(std::uint64_t fiber);
  grant current(std::uint64_t fiber, mode what);
  /// @returns which of the locks is held. @pre the family is any
  std::size_t index();
  // Of the robust family:
  std::optional<dead_owner> abandoned() { return robust_->abandoned(); }
  void recovered() { robust_->recovered(); }
  void poison() { robust_->poison(); }

  // Of the fair family, a place that is kept:
  place make_place() { return std::make_shared<detail::fair_place>(fair_, detail::patience::keep); }
  call queue(const place& in, std::uint64_t fiber);
  call queue_again(const place& in, std::uint64_t fiber);
  call wait(const place& in, std::uint64_t fiber, detail::time_point until = detail::never);

  void shut();

  simulated_client& client() const noexcept { return client_; }
  const lock_settings& settings() const noexcept { return settings_; }

 private:
  simulated_client& client_;
  const lock_settings settings_;
  const std::shared_ptr<detail::key_table> table_;
  const std::string key_;
  std::shared_ptr<detail::cohort> turns_;  // of a key: that of the last call, which all who hold or wait have
  std::shared_ptr<detail::fair_places> fair_;
  std::shared_ptr<detail::shared_state> shared_;
  std::shared_ptr<detail::joint_lock> joint_;
  std::shared_ptr<detail::permit_line> permits_;
  std::shared_ptr<detail::robust_line> robust_;                                 // which is `turns_`, too
  std::map<std::uint64_t, std::shared_ptr<detail::permit_line::wish>> wishes_;  // of permits, by their fibers
};

}  // namespace latchkey::testing
