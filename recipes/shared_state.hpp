// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The writers and the readers of one lock object.

#include <memory>
#include <stop_token>
#include <string>

#include "recipes/cohort.hpp"
#include "recipes/reader_group.hpp"

namespace latchkey::detail {

/// Writers share a cohort, readers share entries; the queue orders the two. This class keeps what the ensemble does not
/// know: which fiber holds what, so that no fiber waits for itself, and which caller has lost the lock but not unlocked
/// it yet, so that callers of one object never overlap. Without the monitor, except where stated.
class shared_state : public lock_calls<shared_state>, public std::enable_shared_from_this<shared_state> {
 public:
  /// @param path as the user calls it; below the chroot
  shared_state(std::shared_ptr<client_core> core, std::string path, cohort_options writers, readers_options readers);
  void open();
  /// Releases what is held, ends every wait.
  void shut() noexcept;

  /// Waits: suspends the fiber or blocks the thread. @returns whether the lock was taken.
  bool acquire_shared(duration timeout, std::stop_token stop);
  /// As `acquire_shared`. @returns its guard; an empty one if the lock was not taken.
  guard acquire_shared_guard(duration timeout, std::stop_token stop);
  /// Logs an error, and does nothing else, if the calling fiber does not read, or reads with a guard.
  void unlock_shared() noexcept;
  void downgrade();
  /// @param writer of a guard. @returns the guard of the reader.
  guard downgrade(const grant& writer);

  grant held_shared();

  // With the monitor: the same without waiting.
  std::shared_ptr<waiter> enter(std::uint64_t fiber, time_point until);
  std::shared_ptr<waiter> enter_shared(std::uint64_t fiber, time_point until);
  void cancel(const std::shared_ptr<waiter>& who) { writers_->cancel(who); }
  void cancel_shared(const std::shared_ptr<waiter>& who) { readers_->cancel(who); }
  void leave();
  bool leave_shared(std::uint64_t fiber);
  /// @returns a waiter that is concluded when it is done: granted, or failed with `lock_lost`.
  /// @param reader who reads then
  std::shared_ptr<waiter> begin_downgrade(std::uint64_t reader);
  grant current() const { return writers_->current(); }
  owner& holder() noexcept { return writers_->holder(); }
  grant current_shared(std::uint64_t fiber) const { return readers_->current(fiber); }

 private:
  friend class lock_calls<shared_state>;

  template <class Predicate>
  void become_reader(std::uint64_t reader, Predicate is_caller);
  guard guard_of_reader(std::uint64_t reader);

  /// For the guards of readers.
  class read_side final : public guarded {
   public:
    explicit read_side(shared_state& of) : of_{of} {}
    void release_grant(std::uint64_t holder, const grant& what) noexcept override;
    std::uint64_t disown(std::uint64_t holder, const grant& what) noexcept override;

   private:
    friend class shared_state;
    shared_state& of_;
  };

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const std::shared_ptr<cohort> writers_;
  const std::shared_ptr<reader_group> readers_;
  read_side read_side_{*this};
};

}  // namespace latchkey::detail
