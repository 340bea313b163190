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
#include <latchkey/grant.hpp>
#include <latchkey/ticket.hpp>
#include <latchkey/timed.hpp>

namespace latchkey {

namespace detail {
class fair_line;
}

/// A mutex with one place in line for each caller, over all processes, in the order of arrival at the ensemble.
/// Fairness: strictly first come, first served, whoever they are; no turns are passed on. A caller next to another one
/// of its own object costs one create and at most one delete, and is woken without a request. Meets Lockable and
/// TimedLockable. Not recursive. Compatible with `mutex` and with Curator's `InterProcessMutex`. Waiting, concurrency,
/// lifetime and loss: as `mutex`. A caller that waits through the loss of a session is queued again, at the end.
class fair_mutex : public detail::timed<fair_mutex> {
 public:
  /// Makes no request. @throws error bad_path
  fair_mutex(client& owner, std::string path);
  ~fair_mutex();
  fair_mutex(const fair_mutex&) = delete;
  fair_mutex& operator=(const fair_mutex&) = delete;

  /// Waits for the lock, through outages and lost sessions. @throws as `mutex::lock`
  void lock();

  /// As `lock()`, until `stop` is requested. @returns whether the lock was taken.
  [[nodiscard]] bool lock(std::stop_token stop);

  /// Takes the lock if nobody has it: one read when it is held.
  [[nodiscard]] bool try_lock();

  /// Releases the lock. Does not wait for the ensemble; see `mutex::unlock`.
  /// @pre this object was locked; otherwise nothing happens.
  void unlock() noexcept;

  /// Takes a place in line and returns: waits for the ensemble's answer, not for the lock. The ticket may outlive this
  /// object; its place does not.
  /// @throws as `mutex::lock`
  [[nodiscard]] ticket enqueue();

  /// As `enqueue()`, for so long at most, and until `stop` is requested. @returns nothing when there was no place by
  /// then.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<ticket> try_enqueue_for(std::chrono::duration<Rep, Period> timeout,
                                                      std::stop_token stop = {}) {
    return enqueue_within(detail::saturate(timeout), std::move(stop));
  }

  /// @returns the grant of the caller that has the lock now; an empty one when nobody of this object has it.
  grant held() const;

  /// @returns the path of the lock.
  const std::string& path() const noexcept { return path_; }

 private:
  friend class detail::timed<fair_mutex>;
  bool try_lock_within(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::optional<ticket> enqueue_within(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::string path_;
  std::shared_ptr<detail::fair_line> line_;
};

}  // namespace latchkey
