// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whichever of several locks is free first.

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/lockable.hpp>

namespace latchkey {

namespace detail {
class joint_lock;
}

/// How one `any_lock` is counted, and how long it may be held.
struct any_lock_options {
  /// As `mutex_options::group`.
  std::string group{};
  /// As `mutex_options::max_hold`.
  saturating<std::chrono::milliseconds> max_hold{};
};

/// One of several locks: whichever is free first. For worker ids, slots, and stock that is split over several paths.
///
/// `acquire()` and its kin return a `guard`, and `index()` tells which lock is held. Meets Lockable and TimedLockable.
/// Not recursive. Each lock is that of a `mutex` at its path, and Curator's.
///
/// Fairness: a caller that waits has a place in every queue, so each lock goes to the caller that has waited longest.
/// Once one lock is granted, the other places are given up. Callers of one object hold one after another: use one object
/// for each lock that a process wants at the same time.
///
/// Cost: one transaction that creates all places, and a list of each queue, in one round trip if a lock is free; one
/// transaction that deletes the other places. A try while all are held: one list of each queue, in one round trip, and
/// no write. A try while one is free: two round trips. A try queues in at most four free queues, and returns without a
/// lock if others are first in all of these.
///
/// Grant: that of the lock that was taken, with its fencing token. `commit_and_release()` of a `transaction` under it
/// commits, and the place is given up by the unlock.
///
/// Blocking: see `detail::lockable`. `unlock()` never waits for the ensemble.
///
/// Concurrency: every member may be called from any thread and fiber.
///
/// Lifetime: as for `mutex`.
///
/// Loss: as for `mutex`.
class LATCHKEY_EXPORT any_lock : public detail::lockable<any_lock> {
 public:
  /// The most paths: a caller that waits has a node, and perhaps a watch, for each.
  static constexpr std::size_t most_paths = 16;

  /// Makes no request.
  /// @throws error bad_path; bad_option if there are no paths, more than `most_paths`, or two that are the same;
  /// too_large if the transaction that queues at all of them is, as with long paths and a large ACL
  any_lock(client& owner, std::vector<std::string> paths, any_lock_options options = {});
  /// The same.
  any_lock(client& owner, std::initializer_list<std::string> paths, any_lock_options options = {})
      : any_lock{owner, std::vector<std::string>{paths}, std::move(options)} {}
  /// Not `{{"/a", "/b"}}`: the inner list would be one path, from the one pointer to the other. Write `{"/a", "/b"}`.
  template <class = void>
  any_lock(client& owner, std::initializer_list<std::initializer_list<const char*>> one_brace_too_many,
           any_lock_options options = {}) = delete;
  ~any_lock();
  any_lock(const any_lock&) = delete;
  any_lock& operator=(const any_lock&) = delete;

  /// Releases the lock. Does not wait for the ensemble: the deletion is sent, and repeated until it is done.
  ///
  /// Called by a fiber that has not locked it, or has a `guard` of it, it does nothing and logs an error.
  void unlock() noexcept;

  /// @returns which of the paths the caller that holds a lock through this object has, counted from 0; nothing if none
  /// does. Also after a loss, until the unlock.
  std::optional<std::size_t> index() const;

  /// @returns the grant of the caller that holds a lock through this object; an empty one if none does.
  grant held() const;

  /// @returns the first path, which stands for all in errors.
  const std::string& path() const noexcept;

 private:
  friend class detail::lockable<any_lock>;
  friend struct detail::asynchronous;
  bool take(std::chrono::nanoseconds timeout, std::stop_token stop);
  guard take_guard(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::shared_ptr<detail::pending<guard>> begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::shared_ptr<detail::joint_lock> lock_;
};

}  // namespace latchkey
