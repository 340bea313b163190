// SPDX-License-Identifier: Apache-2.0
// Of a history: what its users do.
#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "simulation/history.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;
using detail::contender_kind;
using outcome = detail::waiter::outcome;

/// User code does not run while its process is stopped.
void history::as_user(const simulated_client& of, duration after, std::function<void()> what) {
  const auto when = std::max(time_.now() + after, time_.resumes_at(of.process()));
  time_.at(when, [this, &of, what = std::move(what)] {
    if (time_.resumes_at(of.process()) > time_.now()) return as_user(of, {}, what);
    what();
  });
}

void history::think(actor& who) {
  if (who.calls_left == 0) {
    who.done = true;
    return;
  }
  --who.calls_left;
  const bool at_once = plan_.at_once > 0 && time_.random().chance(plan_.at_once);
  const auto kept = plan_.direct > 0 ? detail::reaper::patience_if_told : detail::reaper::patience;
  const auto longest = at_once ? kept : plan_.longest_thought;
  as_user(who.object->handle.client(), time_.random().between({}, longest), [this, &who] { begin_call(who); });
}

// Calls ----------

void history::begin_call(actor& who) {
  auto& random = time_.random();
  auto& lock = who.object->handle;
  who.mode = lock.settings().family == lock_family::election  ? contender_kind::latch
             : lock.settings().family == lock_family::permits ? contender_kind::permit
                                                              : contender_kind::lock;
  if (lock.settings().family == lock_family::shared) {
    who.mode = random.chance(who.object->plan->readers) ? contender_kind::read : contender_kind::write;
  }
  if (lock.settings().family == lock_family::fair && !who.awaits && random.chance(plan_.kept)) {
    who.place = lock.make_place();
    return take_place(who, false);
  }
  who.what = wish::lock;
  call_record call;
  const auto timeout = draw_timeout(call);
  // An operator's deletion is told by one node: then each has one.
  const auto most = plan_.operators ? 1 : lock.settings().permits;
  if (most > 1) call.permits = static_cast<std::uint32_t>(1 + random.below(most));
  if (who.awaits) return await(who, call, timeout);
  const auto until = detail::end_of_call(timeout, time_.now());
  begin(who, call, [&] { return lock.enter(who.fiber, who.mode, until, call.permits); });
  cancel_later(who);
}

duration history::draw_timeout(call_record& call) {
  auto& random = time_.random();
  const auto kind = random.below(10);
  auto timeout = duration::max();
  if (kind == 0) {
    timeout = duration::zero();
    call.once = true;
    call.deadline = time_.now() + plan_.timeout;  // which is `connect_timeout`, too
  } else if (kind <= 2) {
    timeout = random.between(1ms, plan_.timeout);
    call.deadline = time_.now() + timeout;
  }
  return timeout;
}

// Coroutines ----------

void history::await(actor& who, call_record call, duration timeout) {
  who.ended.clock = &time_;
  who.ended.at.reset();
  begin(who, call, [&] {
    who.awaited = who.object->handle.begin(who.mode, timeout, call.permits);
    if (!who.awaited->then(who.ended)) who.ended.run();
    return simulated_lock::call{};
  });
  // Its time has begun within, and its process may have been stopped as it read the clock.
  auto& deadline = log_.calls[who.call_number].deadline;
  const auto begun = std::max(time_.now(), time_.resumes_at(who.object->handle.client().process()));
  if (deadline != detail::never) deadline = begun + (call.once ? plan_.timeout : timeout);
  destroy_later(who);
}

/// Or its wait is stopped.
void history::destroy_later(actor& who) {
  if (who.done || !who.awaited || !time_.random().chance(plan_.impatient)) return;
  as_user(who.object->handle.client(), time_.random().between({}, plan_.timeout), [this, &who, waiting = who.awaited] {
    if (who.awaited != waiting) return;
    log_.calls[who.call_number].cancelled = true;
    if (time_.random().coin()) return waiting->cancel();
    if (listener_) tell(fmt::format("caller {} is destroyed", who.fiber));
    settle(who);
    std::exchange(who.awaited, nullptr)->abandon();
    log_.calls[who.call_number].what = call_record::outcome::refused;
    on_refused(who);
  });
}

void history::finish_await(actor& who) {
  settle(who);
  auto& call = log_.calls[who.call_number];
  const auto awaited = std::exchange(who.awaited, nullptr);
  if (time_.random().below(8) == 0) {
    if (listener_) tell(fmt::format("caller {} is destroyed before it goes on", who.fiber));
    awaited->abandon();
    call.cancelled = true;
    call.what = call_record::outcome::refused;
    return on_refused(who);
  }
  try {
    who.own = awaited->result();
  } catch (const error& failed) {
    return on_failed(who, {static_cast<errc>(failed.code().value()), failed.what(), {}});
  }
  const bool taken = who.own.grant() != grant{};
  call.what = taken ? call_record::outcome::granted : call_record::outcome::refused;
  taken ? on_granted(who) : on_refused(who);
}

void history::cancel_later(actor& who) {
  if (who.done || !who.call || !time_.random().chance(plan_.impatient)) return;
  as_user(who.object->handle.client(), time_.random().between({}, plan_.timeout), [this, &who, waiting = who.call] {
    if (who.call != waiting) return;
    log_.calls[who.call_number].cancelled = true;
    if (who.place && time_.random().coin()) return who.place->cancel();
    who.object->handle.cancel(waiting, who.mode);
  });
}

void history::begin(actor& who, call_record call, const std::function<simulated_lock::call()>& enter) {
  auto& object = *who.object;
  call.lock = object.lock;
  call.client = object.client_number;
  call.object = object.number;
  call.kind = who.mode;
  call.in_turn = object.handle.settings().family != lock_family::fair && who.what == wish::lock;
  call.entered = time_.steps();
  call.entered_at = time_.now();
  who.call_number = log_.calls.size();
  log_.calls.push_back(call);
  if (listener_) {
    constexpr std::array wishes{"the lock", "a place", "being a reader"};
    tell(fmt::format("client {} calls for {} of lock {}, object {}, as caller {}, {}", call.client,
                     wishes[static_cast<std::size_t>(who.what)], call.lock, call.object, who.fiber,
                     to_string(call.kind)));
  }
  try {
    who.call = enter();
  } catch (const error& failed) {
    on_failed(who, {static_cast<errc>(failed.code().value()), failed.what(), {}});
  } catch (const std::system_error& failed) {
    on_failed(who, {errc{}, failed.what(), {}});
  }
}

/// A call of it has ended.
void history::settle(const actor& who) {
  auto& call = log_.calls[who.call_number];
  // Who was stopped is excused until it runs again.
  const auto resumed = time_.resumed_at(who.object->handle.client().process());
  call.finished_at = std::max(who.awaits && who.ended.at ? *who.ended.at : time_.now(),
                              resumed);  // it may have been stopped within the call
  // A try asks the ensemble then, and may need a proof; no time of its own ends it.
  const auto excused = call.once && resumed > call.entered_at ? resumed + plan_.timeout : resumed;
  call.deadline = std::max(call.deadline, excused);
}

void history::finish_call(actor& who) {
  auto& call = log_.calls[who.call_number];
  const auto settled = std::exchange(who.call, nullptr);
  settle(who);
  switch (settled->what) {
    case outcome::waiting:
      break;
    case outcome::granted:
      call.what = call_record::outcome::granted;
      return on_granted(who);
    case outcome::refused:
      call.what = call_record::outcome::refused;
      return on_refused(who);
    case outcome::failed:
      return on_failed(who, *settled->why);
  }
}

void history::on_granted(actor& who) {
  if (who.what == wish::place) {
    who.place_of_lease = who.object->handle.client().core()->lease_keeper().current_lease();
    return wait_for_place(who);
  }
  if (who.what == wish::downgrade) {
    log_.grants[who.grant_number].unlocked = time_.steps();
    who.mode = contender_kind::read;
  }
  begin_grant(who);
}

void history::on_refused(actor& who) {
  if (listener_) tell(fmt::format("caller {} gives up", who.fiber));
  if (who.place && who.what == wish::lock && !who.place->spent() && time_.random().coin()) return wait_for_place(who);
  give_up_place(who);
  think(who);
}

void history::on_failed(actor& who, const detail::failure& why) {
  auto& call = log_.calls[who.call_number];
  call.what = call_record::outcome::failed;
  call.failure = why.what;
  call.may_fail = may_fail(who, why.code);
  call.finished_at = time_.now();
  if (listener_) tell(fmt::format("caller {} fails: {}", who.fiber, call.failure));
  if (who.what == wish::downgrade) {  // what is lost must be unlocked
    return as_user(who.object->handle.client(), time_.random().between({}, plan_.longest_hold),
                   [this, &who] { unlock(who); });
  }
  if (!who.place || why.code != errc::place_lost) {
    give_up_place(who);
    if (&who.object->handle.client() == closed_early_) who.done = true;
    if (!who.done) think(who);
    return;
  }
  if (time_.random().coin()) return as_user(who.object->handle.client(), {}, [this, &who] { take_place(who, true); });
  give_up_place(who);
  think(who);
}

/// What no patience could have mended.
bool history::may_fail(const actor& who, errc why) {
  const auto& client = who.object->handle.client();
  if (&client == closed_early_) return true;
  switch (why) {
    case errc::place_lost: {  // with its session, by an operator, or since nobody could prove that the session lives
      const auto& beat = client.core()->lease_keeper().current_lease();
      return plan_.operators || who.place_of_lease != beat || !beat->alive(time_.now());
    }
    case errc::lock_lost:
      return who.what == wish::downgrade && !(who.held.valid_until() > time_.now());
    case errc::refused:
      return plan_.weather.quota_every > detail::duration::zero();
    case errc::too_large:
      return plan_.weather.oversize_every > detail::duration::zero();
    case errc::authentication_failed:
      return plan_.weather.demand_every > detail::duration::zero();
    case errc::unreachable: {  // of those that end by themselves
      const auto& call = log_.calls[who.call_number];
      return call.deadline != detail::never && !call.cancelled && client.core()->unreachable();
    }
    default:
      return false;
  }
}

// Places that are kept ----------

void history::take_place(actor& who, bool again) {
  who.what = wish::place;
  auto& lock = who.object->handle;
  begin(who, {}, [&] { return again ? lock.queue_again(who.place, who.fiber) : lock.queue(who.place, who.fiber); });
  cancel_later(who);
}

void history::wait_for_place(actor& who) {
  as_user(who.object->handle.client(), time_.random().between({}, plan_.longest_thought), [this, &who] {
    if (time_.random().below(8) == 0) {
      give_up_place(who);
      return think(who);
    }
    who.what = wish::lock;
    call_record call;
    const auto until = detail::end_of_call(draw_timeout(call), time_.now());
    begin(who, call, [&] { return who.object->handle.wait(who.place, who.fiber, until); });
    cancel_later(who);
  });
}

void history::give_up_place(actor& who) {
  if (who.place) std::exchange(who.place, nullptr)->cancel();
}

// Unlock ----------

void history::unlock(actor& who) {
  if (listener_) {
    tell(fmt::format("caller {} unlocks lock {}, {}", who.fiber, who.object->lock, who.held ? "held" : "lost"));
  }
  const bool asked = plan_.weather.ask_every > duration::zero() && who.held.asked_to_release();
  for (std::size_t i = 0; i < who.nodes.size(); ++i) {
    auto& grant = log_.grants[who.grant_number + i];
    grant.unlocked = time_.steps();
    grant.asked_to_release = asked;
  }
  const auto held = std::exchange(who.held, {});
  who.nodes.clear();
  who.place = nullptr;
  auto& first = log_.grants[who.grant_number];
  if (first.told_of && time_.random().coin()) {
    who.object->handle.recovered();
    first.recovered = true;
  }
  who.awaits ? who.own.release() : who.object->handle.leave(who.fiber, who.mode);
  first.in_order = !held.loss();
  think(who);
}

}  // namespace latchkey::testing
