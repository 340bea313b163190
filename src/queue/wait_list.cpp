// SPDX-License-Identifier: Apache-2.0
#include "queue/wait_list.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "base/sole_owner.hpp"

namespace latchkey::detail {
namespace {

/// Between calls that try again and again without doing anything else. A program that looks now and then whether the lock
/// is free pauses for longer.
constexpr duration longest_pause = std::chrono::milliseconds{500};

}  // namespace

std::shared_ptr<waiter> wait_list::make() {
  if (spare_.empty() || !is_sole_owner(spare_.front())) {
    auto me = std::make_shared<waiter>();
    me->at = line_.insert(line_.end(), me);
    return me;
  }
  const auto& me = spare_.front();
  me->at = spare_.begin();
  line_.splice(line_.end(), spare_, spare_.begin());
  if (std::exchange(me->woken, false)) me->point.reset();
  me->entering = false;
  me->why = nullptr;
  me->what.store(waiter::outcome::waiting, std::memory_order_relaxed);  // its caller gets it through the monitor
  return me;
}

void wait_list::conclude(const std::shared_ptr<waiter>& who, waiter::outcome what) {
  core_.monitor().cancel(who->timer);
  core_.waiting_calls().one_less();
  if (what == waiter::outcome::refused && who->ends_by_itself) {
    if (const auto outage = core_.unreachable()) {
      who->why = std::make_unique<failure>(outage->at(path_));
      what = waiter::outcome::failed;
    } else {
      core_.say_if_never_connected(path_);
      on_failed_try(*who);
    }
  }
  if (what != waiter::outcome::granted) count_end(*who, what);
  who->set(what);
  if (!who->entering) {
    who->woken = true;
    core_.monitor().wake({who, &who->point});
  }
  // Last: the line may hold the last reference, and `who` be that one.
  if (spare_.size() < most_spare) {
    spare_.splice(spare_.end(), line_, who->at);
  } else {
    line_.erase(who->at);
  }
  if (line_.empty()) next_report_ = {};
}

void wait_list::count_grant(const waiter& who, granted_by what, time_point now) {
  if (what == granted_by::free_queue) ++counts_.at_once;
  if (what == granted_by::turn) ++counts_.turns;
  if (what == granted_by::linger) ++counts_.lingered;
  if (who.timer) failing_since_ = never;
  counts_.wait.add(now - who.since);
  core_.trace(trace_span::kind::wait, trace_span::outcome::granted, path_, who.since, now);
}

/// A call that has not got what it waited for.
void wait_list::count_end(const waiter& who, waiter::outcome what) {
  const auto ended = [&](std::uint64_t& count, trace_span::outcome how) {
    ++count;
    core_.trace(trace_span::kind::wait, how, path_, who.since, core_.monitor().now());
  };
  if (what == waiter::outcome::failed) return ended(counts_.failed, trace_span::outcome::failed);
  if (!who.ends_by_itself) return ended(counts_.cancelled, trace_span::outcome::cancelled);
  if (who.once) return ended(counts_.refused, trace_span::outcome::refused);
  ended(counts_.timed_out, trace_span::outcome::timed_out);
}

/// The first has waited longest. Its next report comes when it has waited twice as long.
bool wait_list::on_round(time_point now) {
  if (line_.empty() || now < next_report_) return false;
  const auto waited = now - line_.front()->since;
  if (!core_.waiting_calls().is_long(waited)) return false;
  next_report_ = now + waited;
  const auto goes_on = [self = self_, this, since = line_.front()->since] {
    const auto alive = self.lock();
    return alive && !line_.empty() && line_.front()->since == since;
  };
  report(keeper(), {waited, line_.size(), goes_on});
  return true;
}

/// A try, or a call whose time is over. That one fails is what it is for. But none gets the lock beside a grant that is
/// over and kept, and none of those that follow one another without a pause may if this process itself holds it: as in
/// `std::lock`, which tries one of two objects while it holds the other, in turns.
void wait_list::on_failed_try(const waiter& who) {
  const auto now = core_.monitor().now();
  const auto by = keeper();
  const bool over = by >= kept_by::released_grant;
  const bool goes_on = over ? failed_beside_over_ : who.since - failed_at_ <= longest_pause;
  failed_beside_over_ = over;
  if (failing_since_ == never || !goes_on) {
    failing_since_ = who.since;
    next_report_of_tries_ = {};
  }
  failed_at_ = now;
  const auto failing = now - failing_since_;
  if (!core_.waiting_calls().is_long(failing) || now < next_report_of_tries_) return;
  next_report_of_tries_ = now + failing;
  report(by, {.lasted = failing, .goes_on = [] { return true; }});
}

/// `others` are for the ensemble to tell.
void wait_list::report(kept_by what, const long_wait& wait) {
  const auto say = [&](const char* why) {
    const bool waiting = wait.calls != 0;
    log(log_level::warning, std::string{wait.words()} + " " + why,
        {{"path", path_},
         {waiting ? "waited_ms" : "failing_ms", wait.lasted},
         {"waiting_calls", waiting ? fmt::to_string(wait.calls) : std::string{}}});
  };
  switch (what) {
    case kept_by::others:
      return look_ ? look_(wait) : look_into_long_wait(core_, {.lock = path_, .path = path_, .kind = &kind_}, wait);
    case kept_by::present_grant:
      return say(
          "for a lock that is held through the same lock object; look for a guard that is kept, perhaps by the caller "
          "itself");
    case kept_by::idle_place:
      return say(
          "for a lock whose turn a place in line of the same lock object has; take the lock with that, or give it up");
    case kept_by::released_grant:
      return say(
          "for a lock that was released by a transaction through the same lock object, but not unlocked since; after "
          "commit_and_release(), call release() of the guard, or unlock()");
    case kept_by::lost_grant:
      return say(
          "for a lock that was lost through the same lock object, and not released since; after a loss, call release() "
          "of the guard, or unlock()");
    case kept_by::owner_has_ended:
      return say(
          "for a lock whose owner has ended without unlock(); destroy the lock object or close the client to release "
          "it; take it with acquire(), whose guard any thread may release");
  }
}

void wait_list::refuse_tries() {
  for (auto at = line_.begin(); at != line_.end();) {
    const auto& each = *at++;
    if (each->once) conclude(each, waiter::outcome::refused);
  }
}

void wait_list::fail_all(const failure& why) {
  while (!line_.empty()) {
    line_.front()->why = std::make_unique<failure>(why);
    conclude(line_.front(), waiter::outcome::failed);
  }
}

void refuse_deadlock(const std::string& path, const char* why) {
  throw std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur),
                          fmt::format("{}: this {} {}", escaped(path), kind_of_caller(), why)};
}

failure destroyed(const std::string& path) {
  return {errc::lock_destroyed, "a call or a place in line still used the lock object; destroy it after they are done",
          path};
}

void throw_destroyed(const std::string& path) { destroyed(path).throw_it(); }

}  // namespace latchkey::detail
