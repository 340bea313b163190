// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The calls that wait for a lock object, and their list.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <latchkey/lockable.hpp>

#include "base/race_detector.hpp"
#include "bridge/wait_point.hpp"
#include "queue/long_wait.hpp"
#include "queue/rule.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// As the end of a call: it tries once, and waits for the ensemble's answer only.
inline constexpr time_point at_once = time_point::min();
/// The same, but it waits for `longest_short_try` at most.
inline constexpr time_point shortly = at_once + duration{1};

/// @returns whether a call with that end tries once.
constexpr bool is_try(time_point until) noexcept { return until <= shortly; }

/// @returns until when a call waits: `at_once`, `shortly`, a time, or `never`.
constexpr time_point end_of_call(duration timeout, time_point now) noexcept {
  if (timeout > duration::zero()) return deadline_after(now, timeout);
  return timeout == duration::zero() ? at_once : shortly;
}

/// @returns when a try ends that has no answer. @pre is_try(until)
inline time_point end_of_try(const client_core& core, time_point until) {
  return core.end_of_try(until == shortly ? longest_short_try : duration::max());
}

/// What a call was granted with.
enum class granted_by : std::uint8_t {
  queue,       ///< a new entry, that waited for others
  free_queue,  ///< a new entry, with none ahead of it
  turn,        ///< the entry of an earlier caller of the same object
  linger,      ///< an entry that was kept for the next caller
};

/// One call that waits. Written with the monitor held; once `what` is no longer `waiting`, read from anywhere.
struct waiter {
  enum class outcome { waiting, granted, refused, failed };
  using line = std::list<std::shared_ptr<waiter>>;

  wait_point point;
  std::uint64_t fiber = 0;
  bool once = false;
  bool entering = false;        // its call has not begun to wait: there is nothing to wake
  bool woken = false;           // `point` must be reset before it is used again
  bool ends_by_itself = false;  // a try, or its time is over: in a long outage that is a failure
  time_point since{};
  std::atomic<outcome> what{outcome::waiting};  // set with release after `why`, for `outcome_of` on the caller's thread
  std::unique_ptr<failure> why;                 // of `failed`
  timer_id timer;
  line::iterator at;           // while it waits
  std::shared_ptr<void> wish;  // for the recipe: what it waits with, while it waits

  void set(outcome to) noexcept {
    happens_before(&what);
    what.store(to, std::memory_order_release);
  }
};

/// What keeps the calls of a lock object from the lock.
enum class kept_by : std::uint8_t {
  others,           ///< as far as the object knows
  present_grant,    ///< a caller of the same object, or its guard
  idle_place,       ///< a place in line of the same object, whose turn has come, and for which no call waits
  released_grant,   ///< the same, after `commit_and_release()`: it has not been unlocked
  lost_grant,       ///< the same, after a loss
  owner_has_ended,  ///< the caller that has locked cannot unlock
};

/// The waiters of one lock object, in the order of their arrival, and what becomes of them in numbers. Waiters are used
/// again by later calls: a turn among local callers allocates nothing.
class wait_list final : long_wait_source {
 public:
  /// @param path of the lock object, below the chroot, and what its callers queue as; both must outlive the list
  wait_list(client_core& core, const std::string& path, const rule& kind, lock_counts& counts)
      : core_{core}, path_{path}, kind_{kind}, counts_{counts} {}
  wait_list(const wait_list&) = delete;
  wait_list& operator=(const wait_list&) = delete;

  /// @returns a waiter at the end of the list. When its time is over it is given to `owner.cancel()`, still waiting. A
  /// try is bounded by the ensemble's answer, and by `end_of_try()`.
  template <class Owner>
  std::shared_ptr<waiter> add(std::uint64_t fiber, time_point until, Owner& owner) {
    auto& calls = core_.waiting_calls();
    if (self_.expired()) {
      const std::shared_ptr<long_wait_source> self{owner.shared_from_this(), this};
      self_ = self;
      calls.add(self);
    }
    calls.one_more();
    ++counts_.calls;
    auto me = make();
    me->fiber = fiber;
    me->since = core_.monitor().now();
    me->once = me->ends_by_itself = is_try(until);
    if (is_try(until)) until = end_of_try(core_, until);
    if (until != never) {
      me->timer = core_.monitor().at(until, [me, weak = owner.weak_from_this()] {
        me->timer = {};
        me->ends_by_itself = true;
        const auto self = weak.lock();
        if (self && me->what == waiter::outcome::waiting) self->cancel(me);
      });
    }
    return me;
  }

  /// Takes it out of the list, and wakes it once the monitor has been released. One that ends by itself fails, in place
  /// of being refused, when the client has been out of reach for too long.
  void conclude(const std::shared_ptr<waiter>& who, waiter::outcome what);
  /// Counts a call that is granted the lock, not just a place in line, before it is concluded.
  void count_grant(const waiter& who, granted_by what, time_point now);
  /// Counts and concludes it.
  void grant(const std::shared_ptr<waiter>& who, granted_by what, time_point now) {
    count_grant(*who, what, now);
    conclude(who, waiter::outcome::granted);
  }

  /// `look` is called when calls have not got the lock for long: in place of looking into the queue at `path`.
  void when_long(std::function<void(const long_wait&)> look) { look_ = std::move(look); }

  /// `what_keeps` is asked when calls have not got the lock, before the queue is looked into.
  void ask_what_keeps(std::function<kept_by()> what_keeps) { what_keeps_ = std::move(what_keeps); }

  /// Refuses the waiters that try once.
  void refuse_tries();
  /// Fails every waiter.
  void fail_all(const failure& why);

  bool empty() const noexcept { return line_.empty(); }
  std::size_t size() const noexcept { return line_.size(); }
  const std::shared_ptr<waiter>& front() const noexcept { return line_.front(); }

 private:
  static constexpr std::size_t most_spare = 256;

  std::shared_ptr<waiter> make();
  bool on_round(time_point now) override;
  void on_failed_try(const waiter& who);
  kept_by keeper() const { return what_keeps_ ? what_keeps_() : kept_by::others; }
  void report(kept_by what, const long_wait& wait);
  void count_end(const waiter& who, waiter::outcome what);

  client_core& core_;
  const std::string& path_;
  const rule& kind_;
  lock_counts& counts_;
  std::weak_ptr<long_wait_source> self_;  // once it is in `waiting_calls`
  time_point next_report_{};              // not before
  time_point failing_since_ = never;      // calls that end by themselves have ended without the lock, and go on to
  time_point failed_at_{};                // the last of them
  bool failed_beside_over_ = false;       // the last of them, beside a grant that is over and kept
  time_point next_report_of_tries_{};
  std::function<void(const long_wait&)> look_;
  std::function<kept_by()> what_keeps_;
  waiter::line line_;
  waiter::line spare_;  // concluded ones, the oldest first
};

/// @returns where that call waits; null if it is concluded.
inline std::shared_ptr<wait_point> point_of(const std::shared_ptr<waiter>& me) {
  if (!me || me->what != waiter::outcome::waiting) return nullptr;
  return {me, &me->point};
}

/// @returns whether it was granted. @throws what it failed with
inline bool outcome_of(const waiter& me) {
  happens_after(&me.what);
  if (me.what == waiter::outcome::failed) me.why->throw_it();
  return me.what == waiter::outcome::granted;
}

/// Waits until `me` is concluded or `stop` is requested, which runs `cancel(me)` with the monitor held. Suspends the
/// fiber, or blocks the thread. Without the monitor. @returns whether it was granted. @throws what it failed with
template <class Cancel>
bool await(monitor& own, const std::shared_ptr<waiter>& me, std::stop_token stop, Cancel cancel) {
  if (me->what == waiter::outcome::waiting) {
    const std::stop_callback on_stop{std::move(stop), [&] {
                                       own.run_unless_forked([&] {
                                         me->ends_by_itself = false;
                                         cancel(me);
                                       });
                                     }};
    me->point.wait();
  }
  return outcome_of(*me);
}

/// A whole call: `enter(fiber, until)` with the monitor held, then the wait for the waiter that it returns.
/// @returns whether it was granted; false if `stop` has been requested already.
template <class Enter, class Cancel>
bool call(monitor& own, duration timeout, std::stop_token stop, Enter enter, Cancel cancel) {
  if (stop.stop_requested() && !own.forked()) return false;
  const auto fiber = current_fiber();
  const bool endless = timeout == duration::max();  // needs no clock
  const auto me = own.run([&] { return enter(fiber, endless ? never : end_of_call(timeout, own.now())); });
  return await(own, me, std::move(stop), std::move(cancel));
}

/// @returns the failure of calls that use a lock object while it is destroyed.
failure destroyed(const std::string& path);
/// Throws that.
[[noreturn]] void throw_destroyed(const std::string& path);

/// Throws the failure of the client if it has one: closed, or refused by the ensemble.
inline void require_working(const client_core& core, const std::string& path) {
  if (core.failed()) core.failed()->at(path).throw_it();
}

/// Throws resource_deadlock_would_occur: the caller would wait for itself. @param why what "this thread" or "fiber" does
[[noreturn]] void refuse_deadlock(const std::string& path, const char* why);

}  // namespace latchkey::detail
