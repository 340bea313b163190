// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Several locks, taken together or not at all.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
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

/// One of several locks that are taken together.
struct lock_request {
  /// As `mutex`, as a reader of `shared_mutex`, or as a writer of it.
  enum class kind : std::uint8_t { alone, read, write };

  std::string path;        ///< of the lock
  kind how = kind::alone;  ///< how it is taken
};

/// How one `multi_lock` is counted, and how long it may be held.
struct multi_lock_options {
  /// As `mutex_options::group`.
  std::string group{};
  /// As `mutex_options::max_hold`.
  saturating<std::chrono::milliseconds> max_hold{};
};

/// Several locks, of any kind, that are taken together by one transaction or not at all.
///
/// `acquire()` and its kin return a `guard`. Meets Lockable and TimedLockable. Not recursive. Each lock is that of
/// `mutex` or `shared_mutex` at its path, and Curator's.
///
/// Deadlock: the order of the paths does not matter. Groups cannot deadlock among themselves, nor with callers who take
/// one lock at a time, in C++, Java or Python. A caller that waits while it holds another lock can deadlock, as with any
/// locks; so does Curator's `InterProcessMultiLock`, which needs a timeout where it meets a group.
///
/// Fairness: first come, first served in each queue. A group that waits in one queue blocks those behind it in all the
/// others, so large groups that overlap convoy. Callers of one object hold one after another.
///
/// Cost: one transaction, and a list of each queue, in one round trip when all locks are free. The release is one
/// transaction. A try while a lock is held: one list of each queue, in one round trip.
///
/// Grant: one for all. Its token is right for the resource of each path. A `transaction` under it is applied only while
/// all its nodes are there; `commit_and_release()` commits, and the places are given up by the unlock. The sequencer of
/// the grant names the node of the first path.
///
/// Blocking: see `detail::lockable`. `unlock()` never waits for the ensemble.
///
/// Concurrency: every member may be called from any thread and fiber.
///
/// Lifetime: as for `mutex`.
///
/// Loss: the loss of one lock is that of all; the others are given up. Otherwise as for `mutex`. A waiter whose session
/// ends, or one of whose nodes is deleted, queues again everywhere, at the end.
class LATCHKEY_EXPORT multi_lock : public detail::lockable<multi_lock> {
 public:
  /// The most locks of one group.
  static constexpr std::size_t most_locks = 64;

  /// Makes no request.
  /// @throws error bad_path; bad_option if there are no locks, more than `most_locks`, or two with the same path;
  /// too_large if the transaction that queues at all of them is, as with long paths and a large ACL
  multi_lock(client& owner, std::vector<lock_request> locks, multi_lock_options options = {});
  /// As above, each of the paths alone: `multi_lock both{client, {"/accounts/1", "/accounts/2"}};`
  multi_lock(client& owner, std::initializer_list<const char*> paths, multi_lock_options options = {});
  /// As above. (A template, so that braces mean the locks of the first one.)
  template <class = void>
  multi_lock(client& owner, const std::vector<std::string>& paths, multi_lock_options options = {})
      : multi_lock{owner, each_alone(paths), std::move(options)} {}
  /// Not `{{"/a", "/b"}}`: the inner list would be one path, from the one pointer to the other. Write `{"/a", "/b"}`.
  template <class = void>
  multi_lock(client& owner, std::initializer_list<std::initializer_list<const char*>> one_brace_too_many,
             multi_lock_options options = {}) = delete;
  ~multi_lock();
  multi_lock(const multi_lock&) = delete;
  multi_lock& operator=(const multi_lock&) = delete;

  /// Releases all locks. Does not wait for the ensemble: the deletion is sent, and repeated until it is done.
  ///
  /// Called by a fiber that has not locked it, or has a `guard` of it, it does nothing and logs an error.
  void unlock() noexcept;

  /// @returns the grant of the caller that holds the locks through this object; an empty one if none does.
  grant held() const;

  /// @returns the path of the first lock, which stands for all in errors and logs.
  const std::string& path() const noexcept;

 private:
  static std::vector<lock_request> each_alone(const std::vector<std::string>& paths);

  friend class detail::lockable<multi_lock>;
  friend struct detail::asynchronous;
  bool take(std::chrono::nanoseconds timeout, std::stop_token stop);
  guard take_guard(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::shared_ptr<detail::pending<guard>> begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::shared_ptr<detail::joint_lock> lock_;
};

}  // namespace latchkey
