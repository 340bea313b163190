// SPDX-License-Identifier: Apache-2.0
#include "recipes/reader_group.hpp"

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
class reader_group::place final : public entry_listener, public std::enable_shared_from_this<place> {
 public:
  explicit place(reader_group& of) : of_{of} {}

  std::shared_ptr<detail::queue_entry> entry;  // none: lost or given up
  std::uint32_t members = 0;
  std::uint32_t turns = 0;
  bool asked_to_release = false;
  bool lingering = false;  // no fiber reads in it: without proofs
  bool delayed = false;    // a contender was seen ahead, or the connection was lost

  bool granted() const noexcept { return entry && entry->granted(); }

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
    of_.for_members_of(shared_from_this(), [](grant_state& each) { each.suspect(); });
  }
  void on_lost(loss_reason why) override { of_.lost(shared_from_this(), why); }
  void on_failed(const failure& why) override { of_.failed(shared_from_this(), why); }
  void on_asked_to_release() override {
    asked_to_release = true;
    of_.for_members_of(shared_from_this(), [](grant_state& each) { each.ask_to_release(); });
    if (members == 0 && of_.line_.empty()) of_.give_up(shared_from_this());
  }

  reader_group& of_;
};

reader_group::reader_group(std::shared_ptr<client_core> core, std::string path, readers_options options)
    : core_{std::move(core)}, path_{std::move(path)}, options_{options}, line_{*core_} {}

reader_group::~reader_group() = default;

void reader_group::open() {
  observing_ = core_->add_observer(*this);
  remote_waiters_ = std::make_shared<remote_waiters>(
      *core_, *absolute_, contender_kind::read,
      [this](std::string_view node) {
        return std::any_of(places_.begin(), places_.end(),
                           [node](const auto& each) { return each->entry && each->entry->node() == node; });
      },
      [this] { on_remote_waiters(); });
}

void reader_group::shut() {
  core_->remove_observer(observing_);
  line_.refuse_all();
  for (auto& [fiber, each] : std::exchange(members_, {})) each.grant->release();
  while (!places_.empty()) give_up(places_.back());
  remote_waiters_->stop();
  linger_.stop();
}

// Callers ----------

std::shared_ptr<waiter> reader_group::enter(std::uint64_t fiber, limit how) {
  require_working(*core_, path_);
  const bool reading = is_reading(fiber);
  if (reading && !how.once) {
    // If a writer came in between, both would wait for ever.
    refuse_deadlock(path_, "this fiber already holds the lock as a reader; call unlock_shared() first");
  }
  const bool on_its_way = line_.empty() || (newest_ && !newest_->delayed);
  const bool hopeless = how.once && (reading || !on_its_way || (gate_ && !gate_()));
  auto me = line_.add(fiber, how, *this);
  me->entering = true;
  if (hopeless) {
    line_.conclude(me, waiter::outcome::refused);
  } else if (line_.size() == 1) {
    find_place();
  }
  me->entering = false;
  return me;
}

void reader_group::cancel(const std::shared_ptr<waiter>& who) {
  if (who->what != waiter::outcome::waiting) return;
  line_.conclude(who, waiter::outcome::refused);
  rest_if_unwanted();
}

bool reader_group::leave(std::uint64_t fiber) {
  auto left = members_.extract(fiber);
  if (left.empty()) return false;
  const auto now = core_->monitor().now();
  const auto& where = left.mapped().where;
  left.mapped().grant->release(now);
  if (--where->members == 0) become_idle(where, now);
  if (spare_.size() < most_spare) spare_.push_back(std::move(left));
  return true;
}

grant reader_group::current(std::uint64_t fiber) const {
  const auto at = members_.find(fiber);
  return at == members_.end() ? grant{} : at->second.grant->as_grant();
}

void reader_group::adopt(std::shared_ptr<queue_entry> granted, std::uint32_t turns, std::uint64_t fiber) {
  const auto where = std::make_shared<place>(*this);
  granted->listen(*where);
  where->entry = std::move(granted);
  where->turns = turns;
  places_.push_back(where);
  if (!newest_) {
    newest_ = where;
    shared_until_ = deadline_after(core_->monitor().now(), options_.share_for);
  }
  join(where, fiber);
}

// Sharing ----------

/// For those who wait: the newest place, if it may be joined, or one of their own.
void reader_group::find_place() {
  if (!newest_ || newest_->asked_to_release || newest_->turns >= most_turns) return take_place();
  if (!newest_->granted()) return;  // on its way
  const auto now = core_->monitor().now();
  if (std::exchange(newest_->lingering, false)) {
    newest_->entry->set_patience(patience_of(line_.front()->once));
    if (!newest_->entry->refresh(now)) return;  // proved first
  }
  if (gate_ && !gate_()) return refuse_tries();  // the others wait until it opens
  remote_waiters_->watch();
  const auto known = remote_waiters_->known();
  if (known == remote_waiters::answer::nobody || now < shared_until_) return let_in_if_fresh(now);
  if (known == remote_waiters::answer::asked) return;  // the answer decides
  if (!core_->session().connected()) return unconfirmed(newest_);
  take_place();
}

void reader_group::let_in_if_fresh(time_point now) {
  if (core_->lease_keeper().fresh(now)) return let_in(newest_);
  if (!newest_->entry->confirm()) unconfirmed(newest_);
}

/// A new place waits until a proof is to be had. Nobody else needs one: who just tries leaves this one as it is.
void reader_group::unconfirmed(const std::shared_ptr<place>& where) {
  if (where != newest_) return;
  refuse_tries();
  if (!line_.empty()) take_place();
}

void reader_group::let_in(const std::shared_ptr<place>& where) {
  while (!line_.empty()) {
    const auto& next = line_.front();
    join(where, next->fiber);
    line_.conclude(next, waiter::outcome::granted);
  }
}

void reader_group::join(const std::shared_ptr<place>& where, std::uint64_t fiber) {
  ++where->members;
  const fencing_token fence{where->entry->czxid(), where->turns++};
  auto& mine = add_member(fiber, where->entry->node(), fence);
  mine.where = where;
  if (where->asked_to_release) mine.grant->ask_to_release();
}

/// What a member needs is used again by later ones: joining allocates nothing.
reader_group::member& reader_group::add_member(std::uint64_t fiber, const std::string& node, fencing_token fence) {
  while (!spare_.empty() && !is_sole_owner(spare_.back().mapped().grant)) spare_.pop_back();  // its user keeps it
  if (spare_.empty()) {
    return members_.emplace(fiber, member{{}, std::make_shared<grant_state>(core_, path_, node, fence)}).first->second;
  }
  auto again = std::move(spare_.back());
  spare_.pop_back();
  again.key() = fiber;
  again.mapped().grant->begin_again(node, fence);
  return members_.insert(std::move(again)).position->second;
}

void reader_group::on_remote_waiters() {
  switch (remote_waiters_->known()) {
    case remote_waiters::answer::waiting:
      shared_until_ = std::min(shared_until_, deadline_after(core_->monitor().now(), options_.share_for));
      break;
    case remote_waiters::answer::gone:
      shared_until_ = time_point::min();
      break;
    default:
      shared_until_ = never;
  }
  if (!newest_ || !newest_->granted()) return;
  if (!line_.empty()) return find_place();
  if (newest_->members == 0 && remote_waiters_->known() != remote_waiters::answer::nobody) give_up(newest_);
}

// Places ----------

void reader_group::take_place() {
  if (core_->failed()) return on_failure(*core_->failed());
  remote_waiters_->stop();
  linger_.stop();
  const auto before = std::exchange(newest_, std::make_shared<place>(*this));
  if (before && before->members == 0) give_up(before);
  places_.push_back(newest_);
  newest_->entry = std::make_shared<queue_entry>(core_, absolute_, contender_kind::read, *newest_);
  newest_->entry->start(patience_of(line_.front()->once));
}

/// No fiber reads in it or waits for it.
void reader_group::become_idle(const std::shared_ptr<place>& where, time_point now) {
  if (where == newest_ && where->granted() && !line_.empty()) return;  // a call waits for an answer
  const bool wanted_soon = options_.linger > duration::zero() && where == newest_ && where->granted() &&
                           !where->asked_to_release && !core_->failed() && core_->session().connected();
  if (wanted_soon) remote_waiters_->watch();
  const auto known = remote_waiters_->known();
  if (!wanted_soon || known == remote_waiters::answer::waiting || known == remote_waiters::answer::gone)
    return give_up(where);
  if (std::exchange(where->lingering, true)) return;
  where->entry->stop_proving();
  linger_.begin(now, *this);
}

bool reader_group::lingers() const noexcept { return newest_ && newest_->lingering; }

void reader_group::give_up(const std::shared_ptr<place>& where) {
  const auto given_up = where;
  if (given_up == newest_) forget_newest();
  std::erase(places_, given_up);
  if (const auto left = std::exchange(given_up->entry, nullptr)) left->leave();
}

/// What belongs to it ends with it.
void reader_group::forget_newest() {
  newest_ = nullptr;
  remote_waiters_->stop();
  linger_.stop();
}

void reader_group::granted(const std::shared_ptr<place>& where) {
  if (where != newest_) return;
  const bool kept = where->turns != 0;  // and proved again
  if (!kept) shared_until_ = deadline_after(core_->monitor().now(), options_.share_for);
  if (gate_ && !gate_()) return refuse_tries();  // the others wait until it opens
  if (!line_.empty()) return kept ? find_place() : let_in(where);
  rest_if_unwanted();
}

void reader_group::delayed(const std::shared_ptr<place>& where) {
  if (where == newest_) refuse_tries();
}

/// Whoever just tries has heard enough.
void reader_group::refuse_tries() {
  line_.refuse_tries();
  rest_if_unwanted();
}

void reader_group::rest_if_unwanted() {
  if (line_.empty() && newest_ && newest_->members == 0) become_idle(newest_, core_->monitor().now());
}

void reader_group::gate_opened() {
  if (!line_.empty() && !newest_) return take_place();
  if (!line_.empty() && newest_ && newest_->granted() && newest_->members == 0 && newest_->entry->refresh()) {
    granted(newest_);
  }
}

void reader_group::refused(const std::shared_ptr<place>& where) {
  where->entry = nullptr;
  std::erase(places_, where);
  if (where != newest_) return;
  forget_newest();
  line_.refuse_tries();
  if (!line_.empty()) take_place();  // those who came meanwhile are in no hurry
}

void reader_group::lost(const std::shared_ptr<place>& where, loss_reason why) {
  where->entry = nullptr;
  std::erase(places_, where);
  for_members_of(where, [why](grant_state& each) { each.lose(why); });
  if (where != newest_) return;
  forget_newest();
  if (!line_.empty()) take_place();
}

void reader_group::failed(const std::shared_ptr<place>& where, const failure& why) {
  give_up(where);
  if (newest_) return;  // no call waits for this one
  line_.fail_all(why.at(path_));
}

/// A place that is only kept has no proofs: what becomes of its session is told here.
void reader_group::on_session_over() {
  remote_waiters_->stop();
  if (!newest_ || newest_->members != 0) return;
  if (line_.empty()) return give_up(newest_);
  newest_->turns = 0;  // it queues again, for another place
  newest_->asked_to_release = false;
}

void reader_group::on_failure(const failure& why) {
  if (newest_) give_up(newest_);
  line_.fail_all(why.at(path_));
}

template <class Callable>
void reader_group::for_members_of(const std::shared_ptr<place>& where, Callable what) {
  for (const auto& [fiber, each] : members_) {
    if (each.where == where) what(*each.grant);
  }
}

}  // namespace latchkey::detail
