// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A mutex across processes and machines.

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>
#include <latchkey/lockable.hpp>

namespace latchkey {

namespace detail {
class cohort;
}

/// How the callers of one `mutex` or `reentrant_mutex` share their place in the queue.
struct mutex_options {
  /// How many callers of one object take turns on its entry once a remote contender is known to wait. At least 1.
  std::uint32_t turns = 16;
  /// How long an idle lock keeps its entry, to be acquired again without a request. It gives the entry up as soon as a
  /// remote contender waits; a remote try does not wait. Zero: gives it up with the unlock.
  saturating<std::chrono::milliseconds> linger{};
  /// The group of locks whose numbers it counts for: see `lock_metrics`. A client keeps the numbers of a group for as
  /// long as it lives, so there should be few: one for each use of locks, not one for each path.
  /// At most 128 printable characters of ASCII.
  std::string group{};
  /// How long one caller may hold the lock, from its grant; of a `reentrant_mutex`, from the outermost one. Then the grant
  /// ends with `loss_reason::held_too_long` and the entry is deleted, so the next remote contender is admitted. The
  /// callers of this object wait for the `unlock()`, as after any loss. `grant::valid_until()` and
  /// `grant::stop_token(before)` are about the lease, and do not foresee it. Zero: for ever.
  saturating<std::chrono::milliseconds> max_hold{};
  /// How the lock passes to the next process. Anything but `ensemble` needs `client_options::peers`.
  hand_off how = hand_off::ensemble;
};

/// An exclusive lock shared by all processes that open the same path of the same ensemble.
///
/// `acquire()` and its kin return a `guard`. Meets Lockable and TimedLockable, so the guards of std serve as well. Not
/// recursive. Wire-compatible with Curator's `InterProcessMutex`.
///
/// Fairness: entries are served first come, first served. Callers of one object share an entry, in the order of their
/// arrival; once a remote contender is known to wait, at most `mutex_options::turns` more of them go first.
///
/// Blocking: see `detail::lockable`. `unlock()` never waits for the ensemble.
///
/// Concurrency: every member may be called from any thread and fiber.
///
/// Lifetime: may outlive the client, and then throws `errc::closed`. The destructor releases what is held. It must not
/// run while a call waits.
///
/// Loss: the grant of `held()` tells. After a loss `unlock()` does nothing on the ensemble, and the next `lock()`
/// works. Until that `unlock()` no other caller of this object is admitted.
class LATCHKEY_EXPORT mutex : public detail::lockable<mutex> {
 public:
  /// Makes no request. @throws error bad_path, bad_option
  mutex(client& owner, given_text<std::string> path, mutex_options options = {});
  ~mutex();
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// Releases the lock. Does not wait for the ensemble: the deletion is sent, and repeated until it is done.
  ///
  /// With more than eight deletions of one client under way it joins the next transaction, usually a round trip later.
  /// If callers of this object have come back within 50 us, twice in a row, it waits up to 50 us for the next one, so
  /// that one transaction deletes this entry and creates the next. If a datagram has told the next contender
  /// (`hand_off::direct`), both are 1 ms. A process that exits within that time leaves the entry until its session ends.
  ///
  /// Called by a fiber that has not locked it, or has a `guard` of it, it does nothing and logs an error.
  void unlock() noexcept;

  /// @returns the grant of the caller that holds the lock through this object; an empty one if none does.
  grant held() const;

  /// @returns the path of the lock.
  const std::string& path() const noexcept { return path_; }

 private:
  friend class detail::lockable<mutex>;
  friend struct detail::asynchronous;
  bool take(std::chrono::nanoseconds timeout, std::stop_token stop);
  guard take_guard(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::shared_ptr<detail::pending<guard>> begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::string path_;
  std::shared_ptr<detail::cohort> cohort_;
};

}  // namespace latchkey
