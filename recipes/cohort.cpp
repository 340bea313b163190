// SPDX-License-Identifier: Apache-2.0
#include "recipes/cohort.hpp"

#include <limits>
#include <utility>

#include "base/sole_owner.hpp"

namespace latchkey::detail {
namespace {

/// A token has no room for more.
constexpr auto last_turn = std::numeric_limits<std::uint32_t>::max();

}  // namespace

cohort_options cohort_options::checked(std::uint32_t turns, duration linger, const std::string& path) {
  if (turns == 0) throw error{errc::bad_option, "the option turns must be at least 1", path};
  if (linger < duration::zero()) throw error{errc::bad_option, "the option linger must not be negative", path};
  return {turns, linger};
}

cohort::cohort(std::shared_ptr<client_core> core, std::string path, contender_kind kind, cohort_options options)
    : core_{std::move(core)}, path_{std::move(path)}, kind_{kind}, options_{options}, line_{*core_} {}

void cohort::open() {
  core_->monitor().run([this] {
    observing_ = core_->add_observer(*this);
    remote_waiters_ = std::make_shared<remote_waiters>(
        *core_, *absolute_, kind_, [this](std::string_view node) { return entry_ && entry_->node() == node; },
        [this] { on_remote_waiters(); });
  });
}

void cohort::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  core_->monitor().run([this] {
    core_->remove_observer(observing_);
    line_.refuse_all();
    leave();
    give_up_place();
  });
}

// Callers ----------

bool cohort::acquire(duration timeout, std::stop_token stop) {
  return call(
      core_->monitor(), timeout, std::move(stop), [this](auto fiber, auto how) { return enter(fiber, how); },
      [this](const auto& who) { cancel(who); });
}

void cohort::unlock() noexcept {
  core_->monitor().run_unless_forked([this] { leave(); });
}

grant cohort::held() {
  return core_->monitor().run_unless_forked([this] { return current(); });
}

std::shared_ptr<waiter> cohort::enter(std::uint64_t fiber, limit how) {
  require_working(*core_, path_);
  if (is_owner(fiber) && !how.once)
    refuse_deadlock(path_, "this fiber already holds the lock; unlock it first, or use a reentrant_mutex");
  const bool busy = !idle();
  auto me = line_.add(fiber, how, *this);
  me->entering = true;
  if (how.once &&
      (busy || (gate_ && !gate_()) || (!core_->session().connected() && core_->session().ever_connected()))) {
    line_.conclude(me, waiter::outcome::refused);
  } else if (!busy) {
    if (!entry_) anticipation_.wanted(core_->monitor().now());
    take_place();
  }
  me->entering = false;
  return me;
}

void cohort::cancel(const std::shared_ptr<waiter>& who) {
  if (who->what != waiter::outcome::waiting) return;
  line_.conclude(who, waiter::outcome::refused);
  if (idle()) become_idle(core_->monitor().now());
}

void cohort::leave() {
  if (!owner_) return;
  const auto now = core_->monitor().now();
  owner_->release(now);
  spare_ = std::move(owner_);
  if (on_downgraded_) {  // another fiber has unlocked meanwhile
    give_up_place();
    std::exchange(on_downgraded_, {})(nullptr, 0);
  }
  go_on(now);
}

// Turns ----------

void cohort::go_on(time_point now) {
  if (line_.empty()) return become_idle(now);
  if (!entry_) return take_place();
  if (!entry_->granted()) return;  // on its way
  if (may_go_on()) {
    if (entry_->refresh(now)) on_granted();
  } else if (remote_waiters_->known() != remote_waiters::answer::asked) {
    leave_place();
    take_place();
  }  // otherwise the answer decides
}

/// Whether the entry may be passed on once more. From half the turns on it pays to know of remote waiters.
bool cohort::may_go_on() {
  if (asked_to_release_ || turns_ == last_turn) return false;
  if ((counted_ + 1) * 2 >= options_.turns) remote_waiters_->watch();
  switch (remote_waiters_->known()) {
    case remote_waiters::answer::nobody:
      counted_ = 0;
      return true;
    case remote_waiters::answer::gone:
      return false;
    default:
      return counted_ < options_.turns;
  }
}

void cohort::on_remote_waiters() {
  if (!owner_ && entry_ && entry_->granted()) go_on(core_->monitor().now());
}

/// No caller wants the entry now.
void cohort::become_idle(time_point now) {
  const bool wanted_soon = options_.linger > duration::zero() && entry_ && entry_->granted() && !asked_to_release_ &&
                           !core_->failed() && core_->session().connected();
  if (wanted_soon) remote_waiters_->watch();
  const auto known = remote_waiters_->known();
  if (!wanted_soon || known == remote_waiters::answer::waiting || known == remote_waiters::answer::gone) {
    const bool wanted_at_once = anticipation_.left(now);
    return wanted_at_once && !asked_to_release_ ? leave_place() : give_up_place();
  }
  if (std::exchange(lingering_, true)) return;
  entry_->stop_proving();
  linger_.begin(now, *this);
}

// The place in the queue ----------

void cohort::take_place() {
  if (core_->failed()) return on_failed(*core_->failed());
  lingering_ = false;
  if (entry_) {  // it has been kept
    entry_->set_patience(patience_of(line_.front()->once));
    return go_on(core_->monitor().now());
  }
  turns_ = counted_ = 0;
  asked_to_release_ = false;
  entry_ = std::make_shared<queue_entry>(core_, absolute_, kind_, *this);
  entry_->start(patience_of(line_.front()->once), std::move(former_));
}

void cohort::give_up_place() {
  if (const auto place = take_leave()) place->leave();
}

/// For another one, which will be wanted at once.
void cohort::leave_place() {
  if (const auto place = take_leave()) former_ = place->leave_for_another(turns_);
}

std::shared_ptr<queue_entry> cohort::take_leave() {
  lingering_ = false;
  linger_.stop();
  remote_waiters_->stop();
  return std::exchange(entry_, nullptr);
}

void cohort::pass_on() {
  const auto& next = line_.front();
  owning_fiber_ = next->fiber;
  if (turns_ == 0) turns_ = entry_->first_turn();
  owner_ = own({entry_->czxid(), turns_++});
  ++counted_;
  if (asked_to_release_) owner_->ask_to_release();
  line_.conclude(next, waiter::outcome::granted);
}

std::shared_ptr<grant_state> cohort::own(fencing_token fence) {
  if (!spare_ || !is_sole_owner(spare_)) return std::make_shared<grant_state>(core_, path_, entry_->node(), fence);
  spare_->begin_again(entry_->node(), fence);
  return std::move(spare_);
}

void cohort::on_granted() {
  if (line_.empty()) return become_idle(core_->monitor().now());
  if (!gate_ || gate_()) return pass_on();
  line_.refuse_tries();
  if (line_.empty()) become_idle(core_->monitor().now());
}

void cohort::gate_opened() {
  if (!owner_ && !line_.empty() && entry_ && entry_->granted() && entry_->refresh()) on_granted();
}

void cohort::on_refused() {
  entry_ = nullptr;
  line_.refuse_tries();
  if (!line_.empty()) take_place();  // those who came meanwhile are in no hurry
}

void cohort::on_suspect() {
  if (owner_) owner_->suspect();
}

void cohort::on_lost(loss_reason why) {
  remote_waiters_->stop();
  entry_ = nullptr;
  if (owner_) {
    owner_->lose(why);
    if (on_downgraded_) std::exchange(on_downgraded_, {})(nullptr, 0);
  } else if (!line_.empty()) {
    take_place();
  }
}

/// A place that is only kept has no proofs: what becomes of its session is told here.
void cohort::on_session_over() {
  remote_waiters_->stop();
  if (idle()) give_up_place();
}

void cohort::on_failed(const failure& why) {
  give_up_place();
  line_.fail_all(why.at(path_));
  if (on_downgraded_) {
    if (owner_) owner_->lose(loss_reason::access_revoked);
    std::exchange(on_downgraded_, {})(nullptr, 0);
  }
}

void cohort::on_asked_to_release() {
  asked_to_release_ = true;
  if (owner_) owner_->ask_to_release();
  if (idle()) give_up_place();
}

// From writer to reader ----------

void cohort::downgrade(std::function<void(std::shared_ptr<queue_entry>, std::uint32_t)> done) {
  if (!entry_ || !entry_->granted()) return done(nullptr, 0);
  on_downgraded_ = std::move(done);
  owner_->release();  // readers of others are let in before we hear that it is done
  entry_->downgrade();
}

void cohort::on_downgraded() {
  owner_ = nullptr;
  remote_waiters_->stop();
  std::exchange(on_downgraded_, {})(std::exchange(entry_, nullptr), turns_);
  go_on(core_->monitor().now());
}

}  // namespace latchkey::detail
