// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A fair queued lock across processes and machines.

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/lockable.hpp>
#include <latchkey/ticket.hpp>

namespace latchkey {

namespace detail {
class fair_places;
}

/// How one `fair_mutex` is counted, held and handed off.
struct fair_mutex_options {
  /// As `mutex_options::group`.
  std::string group{};
  /// As `mutex_options::max_hold`. If the next place in line is of the same object, it waits for the `unlock()`, too, and
  /// those behind it with it: give each caller an object of its own where that is too long.
  saturating<std::chrono::milliseconds> max_hold{};
  /// As `mutex_options::how`.
  hand_off how = hand_off::ensemble;
};

/// An exclusive lock with an entry of its own for every caller.
///
/// Meets Lockable and TimedLockable. Not recursive. Wire-compatible with `mutex` and Curator's `InterProcessMutex`.
///
/// Fairness: strictly first come, first served, over all processes and callers. A caller next to another one of its own
/// object costs one create and at most one delete, and is woken without a request. `lock()` and its kin take a place in
/// the line and wait; with a `ticket`, from `enqueue()`, a caller takes its place now and waits later.
///
/// Blocking, concurrency and lifetime: as for `mutex`.
///
/// Loss: as for `mutex`. A waiter that loses its session queues again, at the end.
class LATCHKEY_EXPORT fair_mutex : public detail::lockable<fair_mutex> {
 public:
  /// Makes no request. @throws error bad_path, bad_option
  fair_mutex(client& owner, given_text<std::string> path, fair_mutex_options options = {});
  ~fair_mutex();
  fair_mutex(const fair_mutex&) = delete;
  fair_mutex& operator=(const fair_mutex&) = delete;

  /// Releases the lock. Does not wait for the ensemble; see `mutex::unlock`, also for who may call it.
  void unlock() noexcept;

  /// Takes a place in the line, and returns a `ticket` for it, by which the lock is waited for later. Waits for the
  /// ensemble's answer, not for the lock. The ticket may outlive this object; its place does not.
  /// @throws error as `lock()`
  [[nodiscard]] ticket enqueue() &;

  /// As `enqueue()`, for at most `timeout`, and until `stop` is requested.
  /// @returns the ticket; nothing if no place was taken by then.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<ticket> try_enqueue_for(std::chrono::duration<Rep, Period> timeout,
                                                      std::stop_token stop = {}) & {
    return enqueue_within(detail::timeout_of(timeout), std::move(stop));
  }

  /// @returns the grant of the caller that holds the lock through this object; an empty one if none does.
  grant held() const;

  /// @returns the path of the lock.
  const std::string& path() const noexcept { return path_; }

 private:
  friend class detail::lockable<fair_mutex>;
  friend struct detail::asynchronous;
  bool take(std::chrono::nanoseconds timeout, std::stop_token stop);
  guard take_guard(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::shared_ptr<detail::pending<guard>> begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::optional<ticket> enqueue_within(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::shared_ptr<detail::pending<ticket>> begin_to_queue(std::stop_token stop);

  std::string path_;
  std::shared_ptr<detail::fair_places> line_;
};

}  // namespace latchkey
