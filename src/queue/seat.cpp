// SPDX-License-Identifier: Apache-2.0
#include "queue/seat.hpp"

#include <limits>
#include <utility>

#include "base/sole_owner.hpp"

namespace latchkey::detail {
namespace {

/// A token has no room for more.
constexpr auto last_turn = std::numeric_limits<std::uint32_t>::max();

}  // namespace

seat_options seat_options::checked(std::uint32_t turns, duration linger, const std::string& path) {
  if (turns == 0) throw error{errc::bad_option, "the option turns must be at least 1", path};
  if (linger < duration::zero()) throw error{errc::bad_option, "the option linger must not be negative", path};
  return {turns, linger};
}

seat::seat(std::shared_ptr<client_core> core, std::string path, contender_kind kind, seat_options options)
    : core_{std::move(core)}, path_{std::move(path)}, kind_{kind}, options_{options}, line_{*core_} {}

void seat::open() {
  core_->strand().run([this] {
    observing_ = core_->add_observer(*this);
    outsiders_ = std::make_shared<outsiders>(
        *core_, *absolute_, kind_, [this](std::string_view node) { return ticket_ && ticket_->node() == node; },
        [this] { on_outsiders(); });
  });
}

void seat::shut() noexcept {
  core_->strand().run([this] {
    core_->remove_observer(observing_);
    line_.refuse_all();
    leave();
    give_up_place();
  });
}

// Callers ----------

bool seat::acquire(duration timeout, std::stop_token stop) {
  return call(
      core_->strand(), timeout, std::move(stop), [this](auto fiber, auto how) { return enter(fiber, how); },
      [this](const auto& who) { cancel(who); });
}

void seat::unlock() noexcept {
  core_->strand().run([this] { leave(); });
}

grant seat::held() {
  return core_->strand().run([this] { return current(); });
}

std::shared_ptr<caller> seat::enter(std::uint64_t fiber, limit how) {
  require_working(*core_, path_);
  if (is_owner(fiber) && !how.once)
    refuse_deadlock(path_, "this fiber has the lock already, and it is not a reentrant one");
  const bool busy = !idle();
  auto me = line_.add(fiber, how, *this);
  me->entering = true;
  if (how.once &&
      (busy || (gate_ && !gate_()) || (!core_->session().connected() && core_->session().ever_connected()))) {
    line_.settle(me, caller::outcome::refused);
  } else if (!busy) {
    if (!ticket_) anticipation_.wanted(core_->strand().now());
    take_place();
  }
  me->entering = false;
  return me;
}

void seat::cancel(const std::shared_ptr<caller>& who) {
  if (who->what != caller::outcome::waiting) return;
  line_.settle(who, caller::outcome::refused);
  if (idle()) rest(core_->strand().now());
}

void seat::leave() {
  if (!owner_) return;
  const auto now = core_->strand().now();
  owner_->release(now);
  spare_ = std::move(owner_);
  if (on_downgraded_) {  // somebody else has unlocked meanwhile
    give_up_place();
    std::exchange(on_downgraded_, {})(nullptr, 0);
  }
  go_on(now);
}

// Turns ----------

void seat::go_on(time_point now) {
  if (line_.empty()) return rest(now);
  if (!ticket_) return take_place();
  if (!ticket_->granted()) return;  // on its way
  if (may_go_on()) {
    if (ticket_->refresh(now)) on_granted();
  } else if (outsiders_->known() != outsiders::answer::asked) {
    leave_place();
    take_place();
  }  // otherwise the answer decides
}

/// Whether the place may be passed on once more. From half the turns on it pays to know whether somebody outside waits.
bool seat::may_go_on() {
  if (asked_to_release_ || turns_ == last_turn) return false;
  if ((counted_ + 1) * 2 >= options_.turns) outsiders_->watch();
  switch (outsiders_->known()) {
    case outsiders::answer::nobody:
      counted_ = 0;
      return true;
    case outsiders::answer::gone:
      return false;
    default:
      return counted_ < options_.turns;
  }
}

void seat::on_outsiders() {
  if (!owner_ && ticket_ && ticket_->granted()) go_on(core_->strand().now());
}

/// Nobody wants the place now.
void seat::rest(time_point now) {
  const bool wanted_soon = options_.linger > duration::zero() && ticket_ && ticket_->granted() && !asked_to_release_ &&
                           !core_->failed() && core_->session().connected();
  if (wanted_soon) outsiders_->watch();
  const auto known = outsiders_->known();
  if (!wanted_soon || known == outsiders::answer::waiting || known == outsiders::answer::gone) {
    const bool wanted_at_once = anticipation_.left(now);
    return wanted_at_once && !asked_to_release_ ? leave_place() : give_up_place();
  }
  if (std::exchange(resting_, true)) return;
  ticket_->rest();
  linger_.begin(now, *this);
}

// The place in the queue ----------

void seat::take_place() {
  if (core_->failed()) return on_failed(*core_->failed());
  resting_ = false;
  if (ticket_) {  // it has been kept
    ticket_->be(patience_of(line_.front()->once));
    return go_on(core_->strand().now());
  }
  turns_ = counted_ = 0;
  asked_to_release_ = false;
  ticket_ = std::make_shared<ticket>(core_, absolute_, kind_, *this);
  ticket_->start(patience_of(line_.front()->once), std::move(former_));
}

void seat::give_up_place() {
  if (const auto place = take_leave()) place->leave();
}

/// For another one, which will be wanted at once.
void seat::leave_place() {
  if (const auto place = take_leave()) former_ = place->leave_for_another(turns_);
}

std::shared_ptr<ticket> seat::take_leave() {
  resting_ = false;
  linger_.stop();
  outsiders_->stop();
  return std::exchange(ticket_, nullptr);
}

void seat::pass_on() {
  const auto& next = line_.front();
  owning_fiber_ = next->fiber;
  if (turns_ == 0) turns_ = ticket_->first_turn();
  owner_ = own({ticket_->czxid(), turns_++});
  ++counted_;
  if (asked_to_release_) owner_->ask_to_release();
  line_.settle(next, caller::outcome::granted);
}

std::shared_ptr<ownership> seat::own(fencing_token fence) {
  if (!spare_ || !is_sole_owner(spare_)) return std::make_shared<ownership>(core_, path_, ticket_->node(), fence);
  spare_->begin_again(ticket_->node(), fence);
  return std::move(spare_);
}

void seat::on_granted() {
  if (line_.empty()) return rest(core_->strand().now());
  if (!gate_ || gate_()) return pass_on();
  line_.refuse_tries();
  if (line_.empty()) rest(core_->strand().now());
}

void seat::gate_opened() {
  if (!owner_ && !line_.empty() && ticket_ && ticket_->granted() && ticket_->refresh()) on_granted();
}

void seat::on_refused() {
  ticket_ = nullptr;
  line_.refuse_tries();
  if (!line_.empty()) take_place();  // those who came meanwhile are in no hurry
}

void seat::on_suspect() {
  if (owner_) owner_->suspect();
}

void seat::on_lost(loss_reason why) {
  outsiders_->stop();
  ticket_ = nullptr;
  if (owner_) {
    owner_->lose(why);
    if (on_downgraded_) std::exchange(on_downgraded_, {})(nullptr, 0);
  } else if (!line_.empty()) {
    take_place();
  }
}

/// A place that is only kept has no proofs: what becomes of its session is told here.
void seat::on_session_over() {
  outsiders_->stop();
  if (idle()) give_up_place();
}

void seat::on_failed(const failure& why) {
  give_up_place();
  line_.fail_all(why.at(path_));
  if (on_downgraded_) {
    if (owner_) owner_->lose(loss_reason::access_revoked);
    std::exchange(on_downgraded_, {})(nullptr, 0);
  }
}

void seat::on_asked_to_release() {
  asked_to_release_ = true;
  if (owner_) owner_->ask_to_release();
  if (idle()) give_up_place();
}

// From writer to reader ----------

void seat::downgrade(std::function<void(std::shared_ptr<ticket>, std::uint32_t)> done) {
  if (!ticket_ || !ticket_->granted()) return done(nullptr, 0);
  on_downgraded_ = std::move(done);
  owner_->release();  // readers of others are let in before we hear that it is done
  ticket_->downgrade();
}

void seat::on_downgraded() {
  owner_ = nullptr;
  outsiders_->stop();
  std::exchange(on_downgraded_, {})(std::exchange(ticket_, nullptr), turns_);
  go_on(core_->strand().now());
}

}  // namespace latchkey::detail
