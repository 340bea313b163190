// SPDX-License-Identifier: Apache-2.0
#include "queue/wait_list.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "base/sole_owner.hpp"
#include "queue/long_wait.hpp"

namespace latchkey::detail {

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
  me->what.store(waiter::outcome::waiting, std::memory_order_relaxed);
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
    }
  }
  if (what != waiter::outcome::granted) count_end(*who, what);
  who->what.store(what, std::memory_order_release);
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
  if (say_what_keeps(waited)) return true;
  if (look_) {
    look_(waited, line_.size());
  } else {
    look_into_long_wait(core_, path_, kind_, waited, line_.size());
  }
  return true;
}

/// @returns whether it is not for the ensemble to tell.
bool wait_list::say_what_keeps(duration waited) const {
  const std::initializer_list<log_field> fields{
      {"path", path_}, {"waited_ms", waited}, {"waiting_calls", line_.size()}};
  switch (what_keeps_ ? what_keeps_() : kept_by::others) {
    case kept_by::others:
      return false;
    case kept_by::present_grant:
      log(log_level::warning,
          "a call has been waiting long for a lock that is held through the same lock object; look for a guard that "
          "is kept, perhaps by the caller itself",
          fields);
      return true;
    case kept_by::lost_grant:
      log(log_level::warning,
          "a call has been waiting long for a lock that was lost through the same lock object, and not released since; "
          "after a loss, call release() of the guard, or unlock()",
          fields);
      return true;
    case kept_by::owner_has_ended:
      log(log_level::warning,
          "a call has been waiting long for a lock whose owner has ended without unlock(); destroy the lock object or "
          "close the client to release it; take it with acquire(), whose guard any thread may release",
          fields);
  }
  return true;
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
