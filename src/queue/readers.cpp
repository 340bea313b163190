// SPDX-License-Identifier: Apache-2.0
#include "queue/readers.hpp"

#include <algorithm>
#include <utility>

#include "base/sole_owner.hpp"

namespace latchkey::detail {
namespace {

constexpr std::size_t most_spare = 64;

/// Of one place: a token has no room for more than twice as many.
constexpr std::uint32_t most_turns = 1u << 31;

}  // namespace

/// One place in the queue, and those who read in it.
class readers::place final : public ticket_listener, public std::enable_shared_from_this<place> {
 public:
  explicit place(readers& of) : of_{of} {}

  std::shared_ptr<detail::ticket> ticket;  // none: lost or given up
  std::uint32_t members = 0;
  std::uint32_t turns = 0;
  bool asked_to_release = false;
  bool resting = false;  // nobody reads in it: without proofs
  bool delayed = false;  // somebody was seen ahead, or the connection was lost

  bool granted() const noexcept { return ticket && ticket->granted(); }

 private:
  void on_granted() override {
    delayed = false;
    of_.granted(shared_from_this());
  }
  void on_unconfirmed() override { of_.unconfirmed(shared_from_this()); }
  void on_delayed() override {
    delayed = true;
    of_.delayed(shared_from_this());
  }
  void on_refused() override { of_.refused(shared_from_this()); }
  void on_suspect() override {
    of_.for_members_of(shared_from_this(), [](ownership& each) { each.suspect(); });
  }
  void on_lost(loss_reason why) override { of_.lost(shared_from_this(), why); }
  void on_failed(const failure& why) override { of_.failed(shared_from_this(), why); }
  void on_asked_to_release() override {
    asked_to_release = true;
    of_.for_members_of(shared_from_this(), [](ownership& each) { each.ask_to_release(); });
    if (members == 0 && of_.line_.empty()) of_.give_up(shared_from_this());
  }

  readers& of_;
};

readers::readers(std::shared_ptr<client_core> core, std::string path, readers_options options)
    : core_{std::move(core)}, path_{std::move(path)}, options_{options}, line_{*core_} {}

readers::~readers() = default;

void readers::open() {
  observing_ = core_->add_observer(*this);
  outsiders_ = std::make_shared<outsiders>(
      *core_, *absolute_, contender_kind::read,
      [this](std::string_view node) {
        return std::any_of(places_.begin(), places_.end(),
                           [node](const auto& each) { return each->ticket && each->ticket->node() == node; });
      },
      [this] { on_outsiders(); });
}

void readers::shut() {
  core_->remove_observer(observing_);
  line_.refuse_all();
  for (auto& [fiber, each] : std::exchange(members_, {})) each.grant->release();
  while (!places_.empty()) give_up(places_.back());
  outsiders_->stop();
  linger_.stop();
}

// Callers ----------

std::shared_ptr<caller> readers::enter(std::uint64_t fiber, limit how) {
  require_working(*core_, path_);
  const bool reading = is_reading(fiber);
  if (reading && !how.once) {
    refuse_deadlock(path_, "this fiber reads already: if a writer came in between, both would wait for ever");
  }
  const bool on_its_way = line_.empty() || (newest_ && !newest_->delayed);
  const bool hopeless = how.once && (reading || !on_its_way || (gate_ && !gate_()));
  auto me = line_.add(fiber, how, *this);
  me->entering = true;
  if (hopeless) {
    line_.settle(me, caller::outcome::refused);
  } else if (line_.size() == 1) {
    find_place();
  }
  me->entering = false;
  return me;
}

void readers::cancel(const std::shared_ptr<caller>& who) {
  if (who->what != caller::outcome::waiting) return;
  line_.settle(who, caller::outcome::refused);
  rest_if_unwanted();
}

bool readers::leave(std::uint64_t fiber) {
  auto left = members_.extract(fiber);
  if (left.empty()) return false;
  const auto now = core_->strand().now();
  const auto& where = left.mapped().where;
  left.mapped().grant->release(now);
  if (--where->members == 0) rest(where, now);
  if (spare_.size() < most_spare) spare_.push_back(std::move(left));
  return true;
}

grant readers::current(std::uint64_t fiber) const {
  const auto at = members_.find(fiber);
  return at == members_.end() ? grant{} : at->second.grant->as_grant();
}

void readers::adopt(std::shared_ptr<ticket> granted, std::uint32_t turns, std::uint64_t fiber) {
  const auto where = std::make_shared<place>(*this);
  granted->listen(*where);
  where->ticket = std::move(granted);
  where->turns = turns;
  places_.push_back(where);
  if (!newest_) {
    newest_ = where;
    shared_until_ = core_->strand().now() + options_.share_for;
  }
  join(where, fiber);
}

// Sharing ----------

/// For those who wait: the newest place, if it may be joined, or one of their own.
void readers::find_place() {
  if (!newest_ || newest_->asked_to_release || newest_->turns >= most_turns) return take_place();
  if (!newest_->granted()) return;  // on its way
  const auto now = core_->strand().now();
  if (std::exchange(newest_->resting, false)) {
    newest_->ticket->be(patience_of(line_.front()->once));
    if (!newest_->ticket->refresh(now)) return;  // proved first
  }
  if (gate_ && !gate_()) return refuse_tries();  // the others wait until it opens
  outsiders_->watch();
  const auto known = outsiders_->known();
  if (known == outsiders::answer::nobody || now < shared_until_) return let_in_if_fresh(now);
  if (known == outsiders::answer::asked) return;  // the answer decides
  if (!core_->session().connected()) return unconfirmed(newest_);
  take_place();
}

void readers::let_in_if_fresh(time_point now) {
  if (core_->prover().fresh(now)) return let_in(newest_);
  if (!newest_->ticket->confirm()) unconfirmed(newest_);
}

/// A new place waits until a proof is to be had. Nobody else needs one: who just tries leaves this one as it is.
void readers::unconfirmed(const std::shared_ptr<place>& where) {
  if (where != newest_) return;
  refuse_tries();
  if (!line_.empty()) take_place();
}

void readers::let_in(const std::shared_ptr<place>& where) {
  while (!line_.empty()) {
    const auto& next = line_.front();
    join(where, next->fiber);
    line_.settle(next, caller::outcome::granted);
  }
}

void readers::join(const std::shared_ptr<place>& where, std::uint64_t fiber) {
  ++where->members;
  const fencing_token fence{where->ticket->czxid(), where->turns++};
  auto& mine = add_member(fiber, where->ticket->node(), fence);
  mine.where = where;
  if (where->asked_to_release) mine.grant->ask_to_release();
}

/// What a member needs is used again by later ones: joining allocates nothing.
readers::member& readers::add_member(std::uint64_t fiber, const std::string& node, fencing_token fence) {
  while (!spare_.empty() && !is_sole_owner(spare_.back().mapped().grant)) spare_.pop_back();  // its user keeps it
  if (spare_.empty()) {
    return members_.emplace(fiber, member{{}, std::make_shared<ownership>(core_, path_, node, fence)}).first->second;
  }
  auto again = std::move(spare_.back());
  spare_.pop_back();
  again.key() = fiber;
  again.mapped().grant->begin_again(node, fence);
  return members_.insert(std::move(again)).position->second;
}

void readers::on_outsiders() {
  switch (outsiders_->known()) {
    case outsiders::answer::waiting:
      shared_until_ = std::min(shared_until_, core_->strand().now() + options_.share_for);
      break;
    case outsiders::answer::gone:
      shared_until_ = time_point::min();
      break;
    default:
      shared_until_ = never;
  }
  if (!newest_ || !newest_->granted()) return;
  if (!line_.empty()) return find_place();
  if (newest_->members == 0 && outsiders_->known() != outsiders::answer::nobody) give_up(newest_);
}

// Places ----------

void readers::take_place() {
  if (core_->failed()) return on_failure(*core_->failed());
  outsiders_->stop();
  linger_.stop();
  const auto before = std::exchange(newest_, std::make_shared<place>(*this));
  if (before && before->members == 0) give_up(before);
  places_.push_back(newest_);
  newest_->ticket = std::make_shared<ticket>(core_, absolute_, contender_kind::read, *newest_);
  newest_->ticket->start(patience_of(line_.front()->once));
}

/// Nobody reads in it, nobody waits for it.
void readers::rest(const std::shared_ptr<place>& where, time_point now) {
  if (where == newest_ && where->granted() && !line_.empty()) return;  // somebody waits for an answer
  const bool wanted_soon = options_.linger > duration::zero() && where == newest_ && where->granted() &&
                           !where->asked_to_release && !core_->failed() && core_->session().connected();
  if (wanted_soon) outsiders_->watch();
  const auto known = outsiders_->known();
  if (!wanted_soon || known == outsiders::answer::waiting || known == outsiders::answer::gone) return give_up(where);
  if (std::exchange(where->resting, true)) return;
  where->ticket->rest();
  linger_.begin(now, *this);
}

bool readers::rests() const noexcept { return newest_ && newest_->resting; }

void readers::give_up(const std::shared_ptr<place>& where) {
  const auto given_up = where;
  if (given_up == newest_) forget_newest();
  std::erase(places_, given_up);
  if (const auto left = std::exchange(given_up->ticket, nullptr)) left->leave();
}

/// What belongs to it ends with it.
void readers::forget_newest() {
  newest_ = nullptr;
  outsiders_->stop();
  linger_.stop();
}

void readers::granted(const std::shared_ptr<place>& where) {
  if (where != newest_) return;
  const bool kept = where->turns != 0;  // and proved again
  if (!kept) shared_until_ = core_->strand().now() + options_.share_for;
  if (gate_ && !gate_()) return refuse_tries();  // the others wait until it opens
  if (!line_.empty()) return kept ? find_place() : let_in(where);
  rest_if_unwanted();
}

void readers::delayed(const std::shared_ptr<place>& where) {
  if (where == newest_) refuse_tries();
}

/// Whoever just tries has heard enough.
void readers::refuse_tries() {
  line_.refuse_tries();
  rest_if_unwanted();
}

void readers::rest_if_unwanted() {
  if (line_.empty() && newest_ && newest_->members == 0) rest(newest_, core_->strand().now());
}

void readers::gate_opened() {
  if (!line_.empty() && !newest_) return take_place();
  if (!line_.empty() && newest_ && newest_->granted() && newest_->members == 0 && newest_->ticket->refresh()) {
    granted(newest_);
  }
}

void readers::refused(const std::shared_ptr<place>& where) {
  where->ticket = nullptr;
  std::erase(places_, where);
  if (where != newest_) return;
  forget_newest();
  line_.refuse_tries();
  if (!line_.empty()) take_place();  // those who came meanwhile are in no hurry
}

void readers::lost(const std::shared_ptr<place>& where, loss_reason why) {
  where->ticket = nullptr;
  std::erase(places_, where);
  for_members_of(where, [why](ownership& each) { each.lose(why); });
  if (where != newest_) return;
  forget_newest();
  if (!line_.empty()) take_place();
}

void readers::failed(const std::shared_ptr<place>& where, const failure& why) {
  give_up(where);
  if (newest_) return;  // nobody waits for this one
  line_.fail_all(why.at(path_));
}

/// A place that is only kept has no proofs: what becomes of its session is told here.
void readers::on_session_over() {
  outsiders_->stop();
  if (!newest_ || newest_->members != 0) return;
  if (line_.empty()) return give_up(newest_);
  newest_->turns = 0;  // it queues again, for another place
  newest_->asked_to_release = false;
}

void readers::on_failure(const failure& why) {
  if (newest_) give_up(newest_);
  line_.fail_all(why.at(path_));
}

template <class Callable>
void readers::for_members_of(const std::shared_ptr<place>& where, Callable what) {
  for (const auto& [fiber, each] : members_) {
    if (each.where == where) what(*each.grant);
  }
}

}  // namespace latchkey::detail
