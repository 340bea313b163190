// SPDX-License-Identifier: Apache-2.0
#include "recipes/semaphore/permit_line.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <latchkey/semaphore.hpp>

#include "base/path.hpp"
#include "queue/long_wait.hpp"
#include "recipes/rules.hpp"
#include "session/waiting_call.hpp"

namespace latchkey::detail {

/// A semaphore has no other calls to release its permits.
const lock_line::wording permit_line::of_guards{"release()", "", false};

permit_line::permit_line(std::shared_ptr<client_core> core, std::string path, std::uint32_t permits,
                         const cohort_options& options, bool contract)
    : lock_line{core, std::move(path), counting_rule(), core->group(options.group), options.max_hold, of_guards},
      most_turns_{options.turns},
      linger_{options.linger},
      queue_{std::make_shared<permit_queue>(core_, path_, permits, contract, *this)},
      locks_{std::make_shared<watched_children>(
          *core_, queue_->locks(), [this](const reply& listed) { on_locks_listed(listed); },
          [this] {
            remote_ = remote::unknown;
            if (!idle_.empty()) look_for_remote();
          })},
      permits_{permits} {
  line_.when_long([this](const long_wait& what) {
    const auto where =
        what.calls == 0 ? join(path_, permit_leases) : queue_->waits_at();  // a try has counted the leases
    look_into_long_wait(*core_, {path_, where, &counting_rule(), queue_->contract().number()}, what);
  });
}

void permit_line::open() {
  core_->monitor().run([this] { observing_ = core_->add_observer(*this); });
}

void permit_line::let_go() {
  core_->remove_observer(observing_);
  line_.fail_all(destroyed(path_));
  queue_->give_up();
  queue_->contract().forget();
  locks_->stop();
  holders_.for_each([](hold& each) {
    each.grant->release();
    static_cast<permit&>(*each.on).leave();
  });
  holders_.clear();
  drop_idle();
}

// Callers ----------

/// There may be more permits than this object has heard of: nothing is watched between sessions.
bool permit_line::must_learn(std::uint32_t count) {
  const auto& contract = queue_->contract();
  return count > contract.number() && count <= semaphore::most_at_once && contract.recorded() && contract.met();
}

request permit_line::question() const { return {.kind = operation::get, .path = core_->absolute(path_)}; }

void permit_line::learn(const reply& answer) {
  if (const auto found = permits_agreement.read(answer.data)) queue_->contract().learn(*found, answer.stat);
}

guard permit_line::acquire(std::uint32_t count, duration timeout, std::stop_token stop) {
  auto self = shared_from_this();  // the semaphore may be destroyed while this waits
  if (core_->monitor().run([&] { return must_learn(count); }))
    return await(begin_guard(count, timeout, std::move(stop)));
  const auto mine = std::make_shared<wish>(wish{.count = count});
  const bool granted = call(
      core_->monitor(), timeout, std::move(stop), [&](auto fiber, auto until) { return enter(fiber, until, mine); },
      [this](const auto& who) { cancel(who); });
  if (!granted) return {};
  if (shut_) throw_destroyed(path_);
  return make_guard(std::move(self), std::move(mine->what), mine->holder);
}

std::shared_ptr<waiter> permit_line::enter(std::uint64_t fiber, time_point until, const std::shared_ptr<wish>& what) {
  require_open();
  if (const auto most = std::min(queue_->contract().number(), semaphore::most_at_once);
      what->count == 0 || what->count > most)
    throw error{errc::bad_option, fmt::format("{} permits were asked for; ask for 1 to {}", what->count, most), path_};
  return lock_line::enter(fiber, until, what);
}

bool permit_line::is_hopeless(std::uint64_t) { return !line_.empty() || core_->is_cut_off(); }

void permit_line::begin(const std::shared_ptr<waiter>& me) {
  if (line_.size() == 1) advance(me->since);
}

void permit_line::withdraw(const std::shared_ptr<waiter>& me) {
  line_.conclude(me, waiter::outcome::refused);
  advance(core_->monitor().now());
}

void permit_line::refuse_tries() {
  line_.refuse_tries();
  if (line_.empty()) rest(core_->monitor().now());
}

void permit_line::end(hold& mine, time_point now) {
  const auto which = std::static_pointer_cast<permit>(std::move(mine.on));
  holders_.end(mine, now);
  which->held = nullptr;
  in_use_ -= which->held_count;
  if (!which->empty()) idle_.push_back(which);  // otherwise it was lost before
  advance(now);
}

// Permits that are passed on ----------

void permit_line::advance(time_point now) {
  while (!line_.empty()) {
    const auto passed = pass_on(now);
    if (passed == passing::not_yet) return;
    if (passed == passing::done) continue;
    if (core_->failed()) return on_failure(*core_->failed());
    if (queue_up()) return;
  }
  rest(now);
}

/// The first who waits has the permits that another caller has given back.
permit_line::passing permit_line::pass_on(time_point now) {
  while (!idle_.empty()) {
    const auto next = idle_.back();
    const bool fits = next->count() >= first_wish().count;
    if (fits && may_go_on(*next)) {
      if (!next->ready() || !next->refresh(now)) return passing::not_yet;
      idle_.pop_back();
      next->trim(first_wish().count);
      let_in(next, std::exchange(next->rested, false) ? granted_by::linger : granted_by::turn, now);
      return passing::done;
    }
    if (fits && !is_outdated(*next) && remote_ == remote::asked) return passing::not_yet;
    idle_.pop_back();
    next->leave();
  }
  return passing::impossible;
}

/// As `cohort::may_go_on`: from half the turns on it pays to know of remote contenders.
bool permit_line::may_go_on(permit& what) {
  if (is_outdated(what)) return false;
  if ((what.counted + 1) * 2 >= most_turns_) look_for_remote();
  if (remote_ == remote::none) what.counted = 0;
  return what.counted < most_turns_;
}

void permit_line::let_in(const std::shared_ptr<permit>& with, granted_by source, time_point now) {
  const auto& next = line_.front();
  auto& mine = first_wish();
  mine.holder = is_fiber(next->fiber) ? new_holder() : next->fiber;
  auto& taken = holders_.begin(*this, mine.holder, with->node(), with->next_fence(), now);
  taken.guarded = true;
  taken.on = with;
  mine.what = taken.grant->as_grant();
  ++with->counted;
  with->held = &taken;
  with->held_count = with->count();
  in_use_ += with->held_count;
  if (with->asked_to_release()) taken.grant->ask_to_release();
  const auto keep = std::exchange(next->wish, nullptr);
  line_.grant(next, source, now);
}

// Permits that no caller wants ----------

void permit_line::rest(time_point now) {
  queue_->give_up();
  if (idle_.empty()) return;
  if (linger_ == duration::zero() || core_->failed() || !core_->session().connected()) return drop_idle();
  look_for_remote();
  if (remote_ == remote::waiting) return drop_idle();
  for (auto at = idle_.size(); at-- > 0;) {
    const auto each = idle_[at];
    if (is_outdated(*each)) {
      idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(at));
      each->leave();
    } else if (!std::exchange(each->rested, true)) {
      each->stop_proving();
      until_ = deadline_after(now, linger_);
    }
  }
  if (!idle_.empty()) rest_.set(*this, until_, [this](time_point at) { return end_linger(at); });
}

time_point permit_line::end_linger(time_point now) {
  if (idle_.empty() || !line_.empty()) return never;
  if (now < until_) return until_;
  drop_idle();
  return never;
}

void permit_line::drop_idle() {
  rest_.stop();
  for (const auto& each : std::exchange(idle_, {})) each->leave();
}

void permit_line::look_for_remote() {
  if (remote_ != remote::unknown || !core_->session().connected()) return;
  remote_ = remote::asked;
  locks_->list(true);
}

/// A missing or unreadable answer counts as a remote contender: it costs a permit, not the order.
void permit_line::on_locks_listed(const reply& listed) {
  const auto is_remote = [this](const std::string& name) {
    const auto node = join(locks_->path(), name);
    return rival_of(rule_of(contender_kind::lock), name) && !queue_->is_turn(node) && !core_->reaper().removes(node);
  };
  const bool none =
      listed.code == reply_code::ok && std::none_of(listed.children.begin(), listed.children.end(), is_remote);
  remote_ = none ? remote::none : remote::waiting;
  advance(core_->monitor().now());
  if (!locks_->watching()) remote_ = remote::unknown;
}

}  // namespace latchkey::detail
