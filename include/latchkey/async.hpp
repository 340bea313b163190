// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Waiting in coroutines, of any type.

#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/guard.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/pending.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/sequencer.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/ticket.hpp>
#include <latchkey/transaction.hpp>

namespace latchkey {

/// Continues a coroutine that has waited. Call it once, on the executor where the coroutine is to go on. Does nothing if
/// the coroutine was destroyed while it waited. Cheap to copy and to move; of the copies one is called.
class LATCHKEY_EXPORT resumption {
 public:
  /// For latchkey's own use.
  resumption(std::shared_ptr<const detail::pending_call> call, std::coroutine_handle<> who) noexcept
      : call_{std::move(call)}, who_{who} {}

  /// Goes on, on this thread.
  void operator()() const {
    if (!call_->abandoned()) who_.resume();
  }

 private:
  std::shared_ptr<const detail::pending_call> call_;
  std::coroutine_handle<> who_;
};

/// Where a coroutine goes on: a callable that is given a `resumption`, and hands it to an executor. With Boost.Asio's pool:
/// `[&pool](auto next) { boost::asio::post(pool, std::move(next)); }`
///
/// It is called at most once, not if there is nothing to wait for, and from any thread: one of latchkey's, or one that
/// releases the lock. It must not block, and it must not run what it is given before it returns: the coroutine would run on
/// a thread that others wait for. Nor should it destroy other coroutines that wait, which may wait for their own `where`. An
/// exception that leaves it ends the process (`std::terminate`).
template <class Where>
concept resumer = std::move_constructible<Where> && std::invocable<Where&, resumption>;

/// What `co_await` waits for. Made by `co_acquire()` and its kin; awaited once, by one coroutine. The wait has begun when it
/// is made, and ends with it: what it was granted and has not returned is given back.
template <class Outcome, resumer Where>
class [[nodiscard]] awaiting final : detail::pending_call::continuation {
 public:
  /// For latchkey's own use.
  awaiting(std::shared_ptr<detail::pending<Outcome>> call, Where where)
      : call_{std::move(call)}, where_{std::move(where)} {}
  /// @pre `other` is not being awaited
  awaiting(awaiting&& other) noexcept(std::is_nothrow_move_constructible_v<Where>)
      : call_{std::exchange(other.call_, nullptr)}, where_{std::move(other.where_)} {}
  awaiting(const awaiting&) = delete;
  awaiting& operator=(const awaiting&) = delete;
  ~awaiting() {
    if (call_) call_->abandon();
  }

  // For the compiler.

  /// @returns false.
  bool await_ready() const noexcept { return false; }

  /// Not inline: the coroutine may go on, and be gone, before `then()` has returned, so nothing of it may be touched.
#if defined(__GNUC__)
  [[gnu::noinline]]
#endif
  bool
  await_suspend(std::coroutine_handle<> who) {
    who_ = who;
    const auto call = call_;
    return call->then(*this);
  }

  /// @returns the outcome. @throws what the blocking call does
  Outcome await_resume() {
    const auto call = std::exchange(call_, nullptr);
    return call->result();
  }

 private:
  void run() noexcept override { where_(resumption{call_, who_}); }

  std::shared_ptr<detail::pending<Outcome>> call_;
  Where where_;
  std::coroutine_handle<> who_;
};

namespace detail {

/// @returns what waits for `call`, and goes on there.
template <class Where, class Outcome>
awaiting<Outcome, Where> await_at(Where where, std::shared_ptr<pending<Outcome>> call) {
  return {std::move(call), std::move(where)};
}

inline constexpr auto for_ever = std::chrono::nanoseconds::max();  ///< as a timeout: none
inline constexpr auto one_try = std::chrono::nanoseconds::zero();  ///< as a timeout: as `try_acquire()`

}  // namespace detail

/// Waits for the lock, through outages and lost sessions, until `stop` is requested: the place in the line, the requests and
/// the turns are those of a blocking call. Suspends the coroutine, and no thread; not at all if the lock is free for this
/// object.
///
/// Works with mutex, robust_mutex, fair_mutex, shared_mutex (to write), semaphore (one permit), multi_lock, any_lock,
/// election, and ticket. Not with `reentrant_mutex`, whose owner is the fiber or thread that calls.
///
/// The guard is the owner: the lock belongs to no thread, and a coroutine that waits for what it holds waits for itself. A
/// guard of std unlocks on the thread where its coroutine happens to be, so use that of `co_acquire()`. What was granted is
/// held from then on, also until the executor has found the time to go on.
///
/// Lifetime: the lock object may be destroyed while the coroutine waits, which throws `errc::lock_destroyed`; the client, which
/// throws `errc::closed`. The coroutine may be destroyed while it is suspended, on its executor: the wait ends, and nothing
/// stays behind. `where` is not used, nor being used, once this has returned or the coroutine was destroyed. While a
/// coroutine waits with a ticket, other calls that wait with it are refused.
///
/// fork(): in the child, coroutines that wait do not go on. They may be destroyed there.
///
/// With g++ 12 write `if`, and not `stopped ? guard{} : co_await co_acquire(...)`: that compiler destroys the result of such
/// an expression twice, whatever is awaited.
///
/// A whole program:
/// @include coroutines.cpp
///
/// @returns the guard; an empty one if stop was requested first
/// @throws error as `detail::lockable`; those that are known at once, from the call, the others from `co_await`
template <detail::asynchronous_lock Lock, resumer Where>
auto co_acquire(Lock& lock, Where where, std::stop_token stop = {}) {
  return detail::await_at(std::move(where), detail::asynchronous::begin(lock, detail::for_ever, std::move(stop)));
}

/// As `co_acquire`; tries once: waits for the ensemble's answer, not for the lock.
/// @returns the guard; an empty one if the lock was not taken
template <detail::asynchronous_lock Lock, resumer Where>
auto co_try_acquire(Lock& lock, Where where) {
  return detail::await_at(std::move(where), detail::asynchronous::begin(lock, detail::one_try, std::stop_token{}));
}

/// As `co_acquire`, for at most `timeout`. @returns the guard; an empty one if the lock was not taken
template <detail::asynchronous_lock Lock, resumer Where, class Rep, class Period>
auto co_try_acquire_for(Lock& lock, Where where, std::chrono::duration<Rep, Period> timeout,
                        std::stop_token stop = {}) {
  return detail::await_at(std::move(where),
                          detail::asynchronous::begin(lock, detail::timeout_of(timeout), std::move(stop)));
}

/// As `co_acquire`, to read.
template <resumer Where>
auto co_acquire_shared(shared_mutex& lock, Where where, std::stop_token stop = {}) {
  return detail::await_at(std::move(where),
                          detail::asynchronous::begin_shared(lock, detail::for_ever, std::move(stop)));
}

/// As `co_try_acquire`, to read.
template <resumer Where>
auto co_try_acquire_shared(shared_mutex& lock, Where where) {
  return detail::await_at(std::move(where), detail::asynchronous::begin_shared(lock, detail::one_try, {}));
}

/// As `co_try_acquire_for`, to read.
template <resumer Where, class Rep, class Period>
auto co_try_acquire_shared_for(shared_mutex& lock, Where where, std::chrono::duration<Rep, Period> timeout,
                               std::stop_token stop = {}) {
  return detail::await_at(std::move(where),
                          detail::asynchronous::begin_shared(lock, detail::timeout_of(timeout), std::move(stop)));
}

/// As `co_acquire`: `count` permits, together.
template <resumer Where>
auto co_acquire(semaphore& permits, std::uint32_t count, Where where, std::stop_token stop = {}) {
  return detail::await_at(std::move(where),
                          detail::asynchronous::begin(permits, count, detail::for_ever, std::move(stop)));
}

/// As `co_try_acquire`: `count` permits, together.
template <resumer Where>
auto co_try_acquire(semaphore& permits, std::uint32_t count, Where where) {
  return detail::await_at(std::move(where),
                          detail::asynchronous::begin(permits, count, detail::one_try, std::stop_token{}));
}

/// As `co_try_acquire_for`: `count` permits, together.
template <resumer Where, class Rep, class Period>
auto co_try_acquire_for(semaphore& permits, std::uint32_t count, Where where,
                        std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
  return detail::await_at(std::move(where),
                          detail::asynchronous::begin(permits, count, detail::timeout_of(timeout), std::move(stop)));
}

// Give it a whole number.
template <detail::no_count Number, class... Args>
void co_acquire(semaphore&, Number, Args&&...) = delete;
template <detail::no_count Number, class... Args>
void co_try_acquire(semaphore&, Number, Args&&...) = delete;
template <detail::no_count Number, class... Args>
void co_try_acquire_for(semaphore&, Number, Args&&...) = delete;

/// As `co_acquire`: the lock of a key.
template <resumer Where>
auto co_acquire(keyed_mutex& locks, keyed_mutex::given_key key, Where where, std::stop_token stop = {}) {
  return detail::await_at(std::move(where),
                          detail::asynchronous::begin(locks, *key, detail::for_ever, std::move(stop)));
}

/// As `co_try_acquire`: the lock of a key.
template <resumer Where>
auto co_try_acquire(keyed_mutex& locks, keyed_mutex::given_key key, Where where) {
  return detail::await_at(std::move(where),
                          detail::asynchronous::begin(locks, *key, detail::one_try, std::stop_token{}));
}

/// As `co_try_acquire_for`: the lock of a key.
template <resumer Where, class Rep, class Period>
auto co_try_acquire_for(keyed_mutex& locks, keyed_mutex::given_key key, Where where,
                        std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
  return detail::await_at(std::move(where),
                          detail::asynchronous::begin(locks, *key, detail::timeout_of(timeout), std::move(stop)));
}

/// As `co_acquire`: the locks of all `keys`, together. See `keyed_mutex::lock_all`. g++ 12 takes no braces within `co_await`:
/// give it keys that have a name.
template <resumer Where>
auto co_acquire_all(keyed_mutex& locks, const detail::key_list& keys, Where where, std::stop_token stop = {}) {
  return detail::await_at(std::move(where), detail::asynchronous::begin(locks, std::span{keys.keys}, std::move(stop)));
}

/// Takes a place in the line: as `fair_mutex::enqueue()`. @returns the ticket; an empty one if stop was requested first
template <resumer Where>
auto co_enqueue(fair_mutex& lock, Where where, std::stop_token stop = {}) {
  return detail::await_at(std::move(where), detail::asynchronous::begin_to_queue(lock, std::move(stop)));
}

/// Waits until the grant has ended, lost or unlocked. @returns whether it has; false if stop was requested first
template <resumer Where>
auto co_ended(const grant& of, Where where, std::stop_token stop = {}) {
  return detail::await_at(std::move(where), detail::asynchronous::begin_to_wait_for_end(of, std::move(stop)));
}

/// As `transaction::commit()`. What has been sent may be written though the coroutine is destroyed. @returns what became of it
template <resumer Where>
auto co_commit(transaction& what, Where where,
               saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10}) {
  return detail::await_at(std::move(where), detail::asynchronous::begin_to_commit(what, timeout, false));
}

/// As `co_commit`, of `transaction::commit_and_release()`.
template <resumer Where>
auto co_commit_and_release(transaction& what, Where where,
                           saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10}) {
  return detail::await_at(std::move(where), detail::asynchronous::begin_to_commit(what, timeout, true));
}

/// As `read()`. @returns the value
template <resumer Where>
auto co_read(client& through, const std::string& path, Where where,
             saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10}) {
  return detail::await_at(std::move(where), detail::asynchronous::begin_to_read(through, path, timeout));
}

/// As `check_sequencer()`. @returns whether its place is still there
template <resumer Where>
auto co_check_sequencer(client& through, const sequencer& what, Where where,
                        saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10}) {
  return detail::await_at(std::move(where), detail::asynchronous::begin_to_check(through, what, timeout));
}

/// As `client::wait_for_connection()`. @returns whether it is connected
template <resumer Where>
auto co_connected(client& which, Where where, saturating<std::chrono::nanoseconds> timeout) {
  return detail::await_at(std::move(where), detail::asynchronous::begin_to_connect(which, timeout));
}

}  // namespace latchkey
