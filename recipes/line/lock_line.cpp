// SPDX-License-Identifier: Apache-2.0
#include "recipes/line/lock_line.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/process.hpp"

namespace latchkey::detail {

namespace {

/// @returns why a caller that has `mine` would wait for itself.
const char* why(const hold& mine, const char* unless_ended) {
  if (!mine.grant->ended()) return unless_ended;
  return mine.grant->loss() ? "has lost the lock and not released it since; call release() of the guard, or unlock()"
                            : "has released the lock by a transaction, but not unlocked it since; after "
                              "commit_and_release(), call release() of the guard, or unlock()";
}

kept_by how_kept(const hold& holder) {
  if (holder.abandoned()) return kept_by::owner_has_ended;
  if (!holder.grant->ended()) return kept_by::present_grant;
  return holder.grant->loss() ? kept_by::lost_grant : kept_by::released_grant;
}

}  // namespace

void ignored_unlocks::add(const std::string& path, const char* call, unlock_fault why, const char* other) {
  const auto count = ++count_;
  if (!std::has_single_bit(count)) return;
  const auto say = [&](std::string_view text) { log(log_level::error, text, {{"path", path}, {"ignored", count}}); };
  if (why == unlock_fault::guarded) {
    return say(
        fmt::format("{} was called while a guard holds the lock, and was ignored; call release() of the guard, or "
                    "let its scope end; within election::run(), return from the work",
                    call));
  }
  if (why == unlock_fault::other_way) {
    return say(fmt::format("{} was called by a {} that holds the lock in the other mode, and was ignored; call {}",
                           call, kind_of_caller(), other));
  }
  const auto* const advice =
      why == unlock_fault::owner_has_ended
          ? "the one that has is at its end, so only the destructor of the lock object releases the lock now; take "
            "it with acquire()"
          : "unlock it on the one that has, or take it with acquire()";
  say(
      fmt::format("{} was called by a {} that has not locked it, and was ignored; {}, whose guard any thread may "
                  "release",
                  call, kind_of_caller(), advice));
}

void require_peers(client_core& core, hand_off how, const std::string& path) {
  if (how > hand_off::direct_then_sync)
    throw error{errc::bad_option, "the option how is none of ensemble, direct and direct_then_sync", path};
  if (how == hand_off::ensemble || core.options().peers) return;  // in a simulation they are set, and not there
  throw error{errc::bad_option, "the option how asks for a direct hand-off; set client_options::peers, too", path};
}

const lock_line::wording lock_line::alone{
    "unlock()", "already holds the lock; release it first (only a reentrant_mutex may be locked again)", true};

lock_line::lock_line(std::shared_ptr<client_core> core, std::string path, const rule& kind, lock_counts& counts,
                     duration max_hold, const wording& words)
    : core_{std::move(core)},
      path_{std::move(path)},
      counts_{counts},
      line_{*core_, path_, kind, counts_},
      holders_{core_, path_, counts_, max_hold},
      words_{words} {
  line_.ask_what_keeps([this] { return what_keeps(); });
}

void lock_line::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  core_->monitor().run([this] {
    shut_ = true;
    other_ = nullptr;
    holders_.warn_of_holds();
    let_go();
    holders_.stop_limit();
  });
}

void lock_line::exclude(lock_line& other, const char* why) {
  other_ = &other;
  why_not_both_ = why;
}

void lock_line::require_no_holder(std::uint64_t fiber) {
  if (const auto* const mine = holders_.find(fiber)) refuse_deadlock(path_, why(*mine, words_.already));
}

kept_by lock_line::holders_keep() {
  auto found = kept_by::others;
  holders_.for_each([&found](const hold& each) { found = std::max(found, how_kept(each)); });
  return found;
}

kept_by lock_line::what_keeps() {
  const auto mine = words_.exclusive ? holders_keep() : kept_by::others;
  return other_ ? std::max(mine, other_->holders_keep()) : mine;
}

// To lock ----------

/// The lock object may be destroyed while a call waits: `self` keeps this until the call has said so.
bool lock_line::wait_for(duration timeout, std::stop_token stop, std::shared_ptr<lock_line>& self) {
  const bool granted = call(
      core_->monitor(), timeout, std::move(stop),
      [&](auto fiber, auto until) {
        auto me = enter(fiber, until);
        if (me->what == waiter::outcome::waiting) self = shared_from_this();
        return me;
      },
      [this](const auto& who) { cancel(who); });
  if (granted && shut_) throw_destroyed(path_);
  return granted;
}

bool lock_line::acquire(duration timeout, std::stop_token stop) {
  std::shared_ptr<lock_line> self;
  return wait_for(timeout, std::move(stop), self);
}

guard lock_line::acquire_guard(duration timeout, std::stop_token stop) {
  std::shared_ptr<lock_line> self;
  return wait_for(timeout, std::move(stop), self) ? guard_of_holder() : guard{};
}

guard lock_line::guard_of(std::uint64_t holder) {
  return core_->monitor().run([&] {
    auto* const mine = holding(holder);
    if (!mine) throw_destroyed(path_);
    mine->guarded = true;
    return make_guard(shared_from_this(), mine->grant->as_grant(), mine->by);
  });
}

std::shared_ptr<waiter> lock_line::enter(std::uint64_t fiber, time_point until, const std::shared_ptr<void>& wish) {
  const bool once = is_try(until);
  if (const auto* const mine = !once && other_ ? other_->holders_.find(fiber) : nullptr) {
    refuse_deadlock(path_, why(*mine, why_not_both_));
  }
  require_open();
  if (!once) require_no_holder(fiber);
  const bool hopeless = once && (!gate_open() || is_hopeless(fiber));
  auto me = line_.add(fiber, until, *this);
  if (wish) me->wish = wish;
  me->entering = true;
  if (hopeless) {
    line_.conclude(me, waiter::outcome::refused);
    rest_if_unused();
  } else {
    begin(me);
  }
  me->entering = false;
  return me;
}

void lock_line::cancel(const std::shared_ptr<waiter>& who) {
  if (who->what == waiter::outcome::waiting) withdraw(who);
}

// To unlock ----------

void lock_line::unlock() noexcept {
  const auto fiber = current_fiber();
  auto why = unlock_fault::by_another;
  const char* in_the_other_mode = "";
  const bool is_holder = core_->monitor().forked() || core_->monitor().run([&] {
    auto* const mine = holding(fiber);
    if (mine && mine->unlocks(fiber)) return leave(*mine), true;
    if (mine && mine->guarded) {
      why = unlock_fault::guarded;
    } else if (mine && mine->abandoned()) {
      why = unlock_fault::owner_has_ended;
    } else if (!mine && other_ && other_->holding(fiber)) {
      why = unlock_fault::other_way;
      in_the_other_mode = other_->words_.unlock;
    }
    return false;
  });
  if (!is_holder) ignored_.add(path_, words_.unlock, why, in_the_other_mode);
}

void lock_line::leave(std::uint64_t fiber) {
  if (auto* const mine = holding(fiber)) leave(*mine);
}

void lock_line::leave(hold& mine) {
  end(mine, core_->monitor().now());
  if (other_ && holders_.empty()) other_->gate_opened();
}

/// The guard may hold the last reference, also in a forked child, where the entries are not to be touched.
void lock_line::release_grant(std::uint64_t holder, const grant& what) noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  core_->monitor().run([&] {
    auto* const mine = holding(holder);
    if (mine && mine->is(what)) leave(*mine);
  });
}

std::uint64_t lock_line::disown(std::uint64_t holder, const grant& what) noexcept {
  if (!is_fiber(holder)) return holder;
  return core_->monitor().run_unless_forked([&] {
    auto* const mine = holding(holder);
    return mine && mine->is(what) ? holders_.disown(*mine) : holder;
  });
}

grant lock_line::held() {
  const auto fiber = current_fiber();
  return core_->monitor().run_unless_forked([&] { return current(fiber); });
}

grant lock_line::current(std::uint64_t fiber) {
  const auto* const mine = holding(fiber);
  return mine ? mine->grant->as_grant() : grant{};
}

}  // namespace latchkey::detail
