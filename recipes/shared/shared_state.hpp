// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The writers and the readers of one lock object.

#include <memory>
#include <string>

#include "recipes/line/cohort.hpp"
#include "recipes/shared/reader_group.hpp"

namespace latchkey::detail {

/// Writers share a cohort, readers share entries; the queue orders the two. What the ensemble does not know, they know
/// of each other: which fiber holds what, so that no fiber waits for itself, and which caller has lost the lock but not
/// unlocked it yet, so that callers of one object never overlap. Without the monitor, except where stated.
class shared_state : public std::enable_shared_from_this<shared_state> {
 public:
  /// @param path as the user calls it; below the chroot
  shared_state(std::shared_ptr<client_core> core, std::string path, cohort_options writers, readers_options readers);
  /// Releases what is held, ends every wait.
  void shut() noexcept;

  cohort& writers() noexcept { return *writers_; }
  reader_group& readers() noexcept { return *readers_; }

  void downgrade();
  /// @param writer of a guard. @returns the guard of the reader.
  guard downgrade(const grant& writer);
  /// The same without waiting, with the monitor. @returns a waiter that is concluded when it is done: granted, or failed
  /// with `lock_lost`.
  /// @param reader who reads then
  std::shared_ptr<waiter> begin_downgrade(std::uint64_t reader);

 private:
  template <class Predicate>
  void become_reader(std::uint64_t reader, const char* otherwise, Predicate is_caller);

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const std::shared_ptr<cohort> writers_;
  const std::shared_ptr<reader_group> readers_;
};

}  // namespace latchkey::detail
