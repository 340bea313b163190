// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A number of permits across processes and machines.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>
#include <latchkey/guard.hpp>
#include <latchkey/pending.hpp>

namespace latchkey {

namespace detail {
class permit_line;

/// A number that converts to a count of permits, and is none.
template <class Number>
concept no_count = std::floating_point<Number> || std::same_as<Number, bool>;
}  // namespace detail

/// How the callers of one `semaphore` share permits.
struct semaphore_options {
  /// How many callers of one object take turns on a permit once a remote contender is known to wait. At least 1.
  std::uint32_t turns = 16;
  /// How long an idle object keeps permits that were given back, to be acquired again without a request. It gives
  /// them up as soon as a remote contender waits; a remote try does not wait. Zero: gives them up at once.
  saturating<std::chrono::milliseconds> linger{};
  /// The group of locks whose numbers it counts for: see `mutex_options::group`.
  std::string group{};
  /// How long one caller may hold its permits, from their grant. Then the grant ends with `loss_reason::held_too_long`
  /// and the permits become free for other clients. Zero: for ever.
  saturating<std::chrono::milliseconds> max_hold{};
  /// Whether the number of permits is recorded, as data of the path, and compared. The record lasts as long as the
  /// path: ZooKeeper deletes an unused path after some minutes. Without it the number is that of this object alone:
  /// for a path whose data belongs to another program. Curator does not look at the record.
  bool contract = true;
};

/// A semaphore shared by all processes that open the same path of the same ensemble: at most `permits` of them are held
/// at once.
///
/// `acquire()` and its kin return a `guard` of one permit or more. It holds all of them or none, with one grant, and
/// gives them back when it is released or destroyed. Wire-compatible with Curator's `InterProcessSemaphoreV2`, and,
/// with one permit, with its `InterProcessSemaphoreMutex`.
///
/// Number: the first client records it at the path; an object made for another number fails with
/// `errc::contract_mismatch`; a try may find all permits held first. See `resize()` and `semaphore_options::contract`.
///
/// Fairness: clients are served first come, first served, also those that ask for several permits. The callers of one
/// object are served in the order of their arrival, one at a time; permits that are given back pass from caller to
/// caller, once a remote contender is known to wait for at most `semaphore_options::turns` more turns each.
///
/// Blocking: acquiring suspends the calling fiber, or blocks a plain thread. Timeouts and stop tokens are as in
/// `detail::lockable`. Releasing never waits. A caller that waits for permits while it holds others may wait for itself:
/// ask for all at once.
///
/// Concurrency: every member may be called from any thread and fiber.
///
/// Lifetime: may outlive the client, and then throws `errc::closed`. The destructor releases what is held. It must not
/// run while a call waits.
///
/// Loss: the grant of the guard tells, as for a `mutex`. The permits of one guard are lost together. Until that guard
/// is released they count as held for the callers of this object, though other clients may have them.
///
/// Token: `guard::fence()` differs between any two grants. With one permit it grows from grant to grant. With several
/// it says nothing about the order of holders.
class LATCHKEY_EXPORT semaphore {
 public:
  /// The most permits of one call: each has a node of its own.
  static constexpr std::uint32_t most_at_once = 500;

  /// Makes no request.
  /// @param permits how many there are for all processes, from 1 to 2147483647
  /// @throws error bad_path, bad_option
  semaphore(client& owner, given_text<std::string> path, std::uint32_t permits, semaphore_options options = {});
  template <detail::no_count Number>
  semaphore(client&, given_text<std::string>, Number, semaphore_options = {}) = delete;  // permits are whole
  ~semaphore();
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;

  /// Waits for `count` permits, through outages and lost sessions.
  /// @throws error bad_option if `count` is zero, more than there are, or than `most_at_once`; contract_mismatch; closed,
  ///         lock_destroyed, not_authorized, authentication_failed, session_timeout_refused, parent_is_ephemeral,
  ///         queue_exhausted, refused
  guard acquire(std::uint32_t count = 1) &;

  /// As `acquire()`, until `stop` is requested. @returns the guard; an empty one if the permits were not taken.
  guard acquire(std::stop_token stop, std::uint32_t count = 1) & {
    return take(count, std::chrono::nanoseconds::max(), std::move(stop));
  }

  template <class Rep, class Period>
  guard acquire(std::chrono::duration<Rep, Period>, std::uint32_t = 1) & = delete;  // write try_acquire_for(time)

  template <detail::no_count Number>
  guard acquire(Number) & = delete;  // permits are whole
  template <detail::no_count Number>
  guard acquire(std::stop_token, Number) & = delete;  // permits are whole
  template <class R, class P, detail::no_count Number>
  guard try_acquire_for(std::chrono::duration<R, P>, Number, std::stop_token = {}) & = delete;  // permits are whole
  template <class C, class D, detail::no_count Number>
  guard try_acquire_until(std::chrono::time_point<C, D>, Number, std::stop_token = {}) & = delete;  // permits are whole
  template <detail::no_count Number>
  guard try_acquire(Number) & = delete;  // permits are whole
  template <class Rep, class Period>
  guard try_acquire(std::chrono::duration<Rep, Period>, std::uint32_t = 1) & = delete;  // write try_acquire_for(time)

  /// Takes the permits if they are free and no caller waits. Waits for the ensemble's answer only: two reads if there
  /// are too few. Also fails while another client is just about to be granted its permit.
  /// @returns the guard; an empty one if the permits were not taken.
  /// @throws error as `acquire()`; unreachable
  guard try_acquire(std::uint32_t count = 1) & { return take(count, std::chrono::nanoseconds::zero(), {}); }

  /// As `acquire()`, for at most `timeout`, and until `stop` is requested. With a timeout of zero or less: as
  /// `try_acquire()`, for 200 ms at most.
  /// @returns the guard; an empty one if the permits were not taken. @throws error as `acquire()`; unreachable
  template <class Rep, class Period>
  guard try_acquire_for(std::chrono::duration<Rep, Period> timeout, std::uint32_t count = 1,
                        std::stop_token stop = {}) & {
    return take(count, detail::timeout_of(timeout), std::move(stop));
  }

  /// For one permit.
  template <class Rep, class Period>
  guard try_acquire_for(std::chrono::duration<Rep, Period> timeout, std::stop_token stop) & {
    return try_acquire_for(timeout, 1, std::move(stop));
  }

  /// As `try_acquire_for`, with the time that is left now.
  template <class Clock, class Duration>
  guard try_acquire_until(std::chrono::time_point<Clock, Duration> time, std::uint32_t count = 1,
                          std::stop_token stop = {}) & {
    return take(count, detail::timeout_of(time), std::move(stop));
  }

  /// For one permit.
  template <class Clock, class Duration>
  guard try_acquire_until(std::chrono::time_point<Clock, Duration> time, std::stop_token stop) & {
    return try_acquire_until(time, 1, std::move(stop));
  }

  /// Changes the number of permits for all processes, those that run included. No holder loses a permit; if more are
  /// held than there are now, the next is granted when few enough are. What the ensemble had answered before counts as
  /// held, also while the answer is on its way. An object that is used for the first time later must have been made for
  /// the new number. Suspends the calling fiber, or blocks a plain thread, at most `timeout`, or 200 ms if that is not
  /// positive.
  /// @throws error bad_option as the constructor, or without `semaphore_options::contract`; contract_mismatch (the data of
  ///         the path is no semaphore's, and is left as it is); unreachable (not
  ///         done within `timeout`, or perhaps done), not_authorized, refused, closed
  void resize(std::uint32_t permits, saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10});
  template <detail::no_count Number>
  void resize(Number, saturating<std::chrono::nanoseconds> = {}) = delete;  // permits are whole

  /// @returns how many permits there are for all processes, as far as this object knows. At first that is the number it
  /// was made with. From its first `acquire()` or `resize()` on it follows what others change, about a round trip later.
  /// After a lost session it does so from the next of them on.
  std::uint32_t permits() const;

  /// @returns the path of the semaphore.
  const std::string& path() const noexcept { return path_; }

 private:
  friend struct detail::asynchronous;
  guard take(std::uint32_t count, std::chrono::nanoseconds timeout, std::stop_token stop);
  std::shared_ptr<detail::pending<guard>> begin_guard(std::uint32_t count, std::chrono::nanoseconds timeout,
                                                      std::stop_token stop);
  std::shared_ptr<detail::pending<guard>> begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
    return begin_guard(1, timeout, std::move(stop));
  }

  std::string path_;
  std::shared_ptr<detail::permit_line> line_;
};

}  // namespace latchkey
