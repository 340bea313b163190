// SPDX-License-Identifier: Apache-2.0
#include "queue/seat.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace latchkey::detail {

seat::seat(std::shared_ptr<client_core> core, std::string path, contender_kind kind, std::uint32_t turns)
    : core_{std::move(core)}, path_{std::move(path)}, kind_{kind}, max_turns_{turns} {}

void seat::open() {
  core_->strand().run([this] { observing_ = core_->add_observer(*this); });
}

void seat::shut() noexcept {
  core_->strand().run([this] {
    core_->remove_observer(observing_);
    while (!line_.empty()) settle(line_.front(), caller::outcome::refused);
    leave();
    give_up_place();
  });
}

// Callers ----------

bool seat::acquire(duration timeout, std::stop_token stop) {
  if (stop.stop_requested()) return false;
  auto& strand = core_->strand();
  const auto fiber = current_fiber();
  const auto me = strand.run([&] { return enter(fiber, limit::within(timeout, strand.now())); });
  {
    const std::stop_callback on_stop{std::move(stop), [&] { strand.run([&] { cancel(me); }); }};
    me->point.wait();
  }
  if (me->what == caller::outcome::failed) me->why.raise();
  return me->what == caller::outcome::granted;
}

void seat::unlock() noexcept {
  core_->strand().run([this] { leave(); });
}

grant seat::held() {
  return core_->strand().run([this] { return current(); });
}

std::shared_ptr<caller> seat::enter(std::uint64_t fiber, limit how) {
  if (core_->failed()) {
    auto why = *core_->failed();
    if (why.path.empty()) why.path = path_;
    why.raise();
  }
  if (owner_ && owning_fiber_ == fiber && !how.once) {
    throw std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur),
                            path_ + ": this fiber has the lock already, and it is not a reentrant one"};
  }
  auto me = std::make_shared<caller>();
  me->fiber = fiber;
  me->once = how.once;
  const bool busy = owner_ || !line_.empty();
  me->at = line_.insert(line_.end(), me);
  if (how.once && (busy || (!core_->session().connected() && core_->session().ever_connected()))) {
    settle(me, caller::outcome::refused);
    return me;
  }
  set_timer(me, how);
  if (!busy) take_place();
  return me;
}

void seat::set_timer(const std::shared_ptr<caller>& who, limit how) {
  auto& strand = core_->strand();
  if (how.once) {
    // Bounded by the ensemble's answer, and at the very start by the time it may take to connect.
    if (core_->session().ever_connected()) return;
    how.deadline = deadline_after(strand.now(), core_->options().connect_timeout);
  }
  who->timer = strand.at(how.deadline, [self = weak_from_this(), who] {
    who->timer = {};
    if (const auto here = self.lock()) here->cancel(who);
  });
}

void seat::cancel(const std::shared_ptr<caller>& who) {
  if (who->what != caller::outcome::waiting) return;
  settle(who, caller::outcome::refused);
  if (line_.empty() && !owner_) give_up_place();
}

void seat::settle(const std::shared_ptr<caller>& who, caller::outcome what) {
  auto& strand = core_->strand();
  const auto settled = who;  // the line may hold the last reference
  line_.erase(settled->at);
  settled->what = what;
  strand.cancel(settled->timer);
  strand.wake({settled, &settled->point});
}

void seat::leave() {
  if (!owner_) return;
  std::exchange(owner_, nullptr)->release();
  if (line_.empty()) return give_up_place();
  if (!ticket_) return take_place();
  if (turns_ >= max_turns_) {
    give_up_place();
    take_place();
  } else if (core_->prover().fresh()) {
    pass_on();
  } else {
    ticket_->renew();
  }
}

// The place in the queue ----------

void seat::take_place() {
  if (core_->failed()) return on_failed(*core_->failed());
  turns_ = 0;
  ticket_ = std::make_shared<ticket>(core_, core_->absolute(path_), kind_, *this);
  ticket_->start(line_.front()->once ? patience::once : patience::wait);
}

void seat::give_up_place() {
  if (const auto place = std::exchange(ticket_, nullptr)) place->leave();
}

void seat::pass_on() {
  const auto next = line_.front();
  owning_fiber_ = next->fiber;
  owner_ = std::make_shared<ownership>(core_, path_, ticket_->node(), fencing_token{ticket_->czxid(), turns_++});
  settle(next, caller::outcome::granted);
}

void seat::on_granted() {
  if (line_.empty()) return give_up_place();
  pass_on();
}

void seat::on_refused() {
  ticket_ = nullptr;
  if (!line_.empty() && line_.front()->once) settle(line_.front(), caller::outcome::refused);
  if (!line_.empty()) take_place();  // those who came meanwhile are in no hurry
}

void seat::on_suspect() {
  if (owner_) owner_->suspect();
}

void seat::on_lost(loss_reason why) {
  ticket_ = nullptr;
  if (owner_) return owner_->lose(why);
  if (!line_.empty()) take_place();
}

void seat::on_failed(const failure& why) {
  give_up_place();
  while (!line_.empty()) {
    auto& who = line_.front();
    who->why = why;
    if (who->why.path.empty()) who->why.path = path_;
    settle(who, caller::outcome::failed);
  }
}

}  // namespace latchkey::detail
