// SPDX-License-Identifier: Apache-2.0
#include "recipes/semaphore/permit_queue.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/path.hpp"
#include "queue/foreign_use.hpp"
#include "recipes/rules.hpp"

namespace latchkey::detail {

permit_queue::permit_queue(std::shared_ptr<client_core> core, const std::string& path, std::uint32_t permits,
                           bool contract, permit_queue_listener& listener)
    : core_{std::move(core)},
      path_{path},
      locks_{std::make_shared<const std::string>(join(core_->absolute(path), permit_turns))},
      leases_path_{std::make_shared<const std::string>(join(core_->absolute(path), permit_leases))},
      waits_at_{join(path, permit_turns)},
      listener_{listener},
      contract_{std::make_shared<agreed_number>(*core_, path, permits_agreement, permits, contract,
                                                [this](const auto& failed) { on_contract(failed); })},
      list_{std::make_shared<watched_children>(
          *core_, *leases_path_, [this](const reply& listed) { on_leases_listed(listed); },
          [this] { list_->list(true); })},
      turns_{std::make_shared<watched_children>(
          *core_, *locks_, [this](const reply& listed) { on_turns_listed(listed); }, [] {})} {}

// The turn ----------

void permit_queue::take(std::uint32_t count, bool once) {
  if (std::exchange(count_, count) != count && leases_) {
    const bool again = !turn_;
    drop_leases();
    if (again) return queue_up();
    if (is_first()) collect();
  }
  if (at_work()) return;
  once_ = once;
  waited_ = false;
  contract_->ask();
  const bool alone = likely_free_ && contract_->agreed() && core_->session().connected() &&
                     !core_->reaper().refused().any_below(*leases_path_);
  if (once || !alone) return queue_up();
  state_ = state::trying;
  edition_ = contract_->edition();
  collect();
  if (leases_) turns_->list(false);
}

void permit_queue::queue_up() {
  waits_at_ = join(path_, permit_turns);
  if (once_) list_->list(false);  // its answer comes before the turn writes anything
  state_ = state::queueing;
  turn_ = std::make_shared<queue_entry>(core_, locks_, rule_of(contender_kind::lock), *this);
  turn_->start(patience_of(once_), std::move(former_));
}

void permit_queue::give_up() {
  const auto left = std::exchange(turn_, nullptr);
  drop_leases();
  if (left) left->leave();
}

void permit_queue::on_granted() {
  if (leases_) return conclude();
  if (list_->asked()) return;
  if (once_ || count_ != 1 || !turn_->waited()) return collect();
  list_->list(false);
}

void permit_queue::on_delayed() {
  likely_free_ = false;
  waited_ = true;
  if (tries_without_turn()) return fall_back();
  if (!is_first()) drop_leases();
  if (once_) refuse();
}

/// The permit was likely free, and is not, or it is not known whether others wait for it.
void permit_queue::fall_back() {
  likely_free_ = false;
  drop_leases();
  queue_up();
}

/// The leases have been created, so others that came before show; unless their turns have been passed on since, which
/// has changed the list.
void permit_queue::on_turns_listed(const reply& listed) {
  if (state_ != state::trying) return;
  const auto left = core_->reaper().remaining(*locks_, listed.children);
  const bool none_waits = listed.code == reply_code::ok && leases_->are_newer_than(listed.stat.pzxid) &&
                          !is_held(left, rule_of(contender_kind::lock));
  if (!none_waits) return fall_back();
  state_ = state::unopposed;
  conclude();
}

/// There is room for the lease: the transaction that creates it deletes the turn.
void permit_queue::pass_turn_on() {
  const auto left = std::exchange(turn_, nullptr);
  auto former = left->leave_for_another(1);
  if (former) {  // lists along with the transaction
    former->contended = true;
    former->last.clear();
  }
  waited_ = true;
  state_ = state::passed_on;
  edition_ = contract_->edition();
  waits_at_ = join(path_, permit_leases);
  collect(std::move(former));
}

void permit_queue::on_refused() { refuse(); }

void permit_queue::refuse() {
  give_up();
  listener_.on_turn_refused();
}

void permit_queue::on_lost(loss_reason) {
  turn_ = nullptr;
  drop_leases();
  listener_.on_turn_lost();
}

void permit_queue::on_failed(const failure& why) {
  give_up();
  const bool names_node = why.what.starts_with('/');
  listener_.on_queue_failed({why.code, names_node ? why.what : fmt::format("{}: {}", why.path, why.what), path_});
}

// The leases ----------

void permit_queue::drop_leases() {
  seen_ = 0;
  state_ = turn_ ? state::queueing : state::idle;
  list_->stop();
  turns_->stop();
  if (const auto left = std::exchange(leases_, nullptr)) left->leave();
}

/// In one round trip, with what has been sent for the turn: requests of a session are served in order, so the list of
/// the last lease shows all of them.
void permit_queue::collect(std::unique_ptr<kept_node> turn) {
  seen_ = 0;
  if (turn_) state_ = state::collecting;
  leases_ = std::make_shared<permit>(core_, leases_path_, count_, *this);
  leases_->start(std::move(turn));
  if (turn_ && leases_ && waited_) list_->list(true);
}

/// Those that were created after ours hold no caller up: see "Exclusion" in README.md.
void permit_queue::count(const std::vector<std::string>& children) {
  if (!leases_ || !leases_->is_in(children)) return;  // older than they are; or one is gone
  const auto last = leases_->last_number();
  const auto left = core_->reaper().remaining(*leases_path_, children);
  seen_ = static_cast<std::size_t>(std::count_if(left.begin(), left.end(), [&](const std::string& name) {
    const auto number = rule_of(contender_kind::permit).number(name);
    return !number || *number <= last;
  }));
  refused_ = core_->reaper().refused().among(*leases_path_, children);
}

void permit_queue::on_ready(permit&) {
  contract_->ask();
  if (few_enough() || list_->asked()) return conclude();
  seen_ == 0 ? list_->list(waited_) : on_too_many();
}

void permit_queue::on_over(permit&, loss_reason) {
  const bool again = !turn_;
  leases_ = nullptr;
  drop_leases();
  if (again) return queue_up();
  if (is_first()) collect();
}

void permit_queue::on_leases_listed(const reply& listed) {
  if (listed.code != reply_code::ok && listed.code != reply_code::no_node) return;  // the entries hear of it
  if (!leases_) {                                                                   // what is there before ours are
    const auto taken = core_->reaper().remaining(*leases_path_, listed.children).size();
    const bool room = taken + count_ <= contract_->number();
    if (once_) return room ? collect() : refuse();
    if (!turn_ || !turn_->granted()) return;
    return room && count_ == 1 && contract_->agreed() ? pass_turn_on() : collect();
  }
  seen_ = 0;
  count(listed.children);
  if (seen_ == 0) return leases_->look_at_missing(listed.children);
  if (!few_enough()) return on_too_many();
  list_->stop();
  conclude();
}

void permit_queue::on_too_many() {
  if (once_) return refuse();
  likely_free_ = false;
  waited_ = true;
  if (tries_without_turn()) return fall_back();
  if (!is_first()) return drop_leases();
  if (refused_.size() + count_ > contract_->number()) return refuse_behind_own();
  waits_at_ = join(path_, permit_leases);
  leases_->stop_proving();
  if (turn_ && turn_->granted()) turn_->stop_proving();
  if (!list_->watching()) list_->list(true);
}

/// Leases of ours that the ensemble does not let us delete stay until our session ends.
void permit_queue::refuse_behind_own() {
  for (const auto& name : refused_) core_->reaper().refused().try_again(join(*leases_path_, name));
  on_failed(
      {errc::not_authorized,
       "this client may not delete earlier leases of its own, which take all permits (ZNOAUTH -102); grant it the "
       "permissions c, d and r",
       {}});
}

void permit_queue::on_contract(const std::optional<failure>& failed) {
  if (failed) return on_failed(*failed);
  listener_.on_permits_changed();
  if (!leases_) return;
  if (is_outdated()) return fall_back();
  if (few_enough() || list_->asked()) return conclude();
  list_->list(waited_);
}

void permit_queue::conclude() {
  if (is_outdated()) return fall_back();
  if (!few_enough() || !contract_->agreed() || !may_conclude() || !leases_->ready()) return;
  if (!leases_->refresh(core_->monitor().now())) return;
  look_for_lock();
  const auto what = std::exchange(leases_, nullptr);
  const auto left = std::exchange(turn_, nullptr);
  const bool waited = waited_ || (left && left->waited());
  likely_free_ = !waited;
  drop_leases();
  if (!left) return listener_.on_collected(what, waited);
  if (listener_.more_wait()) {
    former_ = left->leave_for_another(1);
  } else {
    left->leave();
  }
  listener_.on_collected(what, waited);
}

/// Once. The folders are there: a lock at the same path that queues later sees them in its own list.
void permit_queue::look_for_lock() {
  if (std::exchange(looked_for_lock_, true)) return;
  const auto path = core_->absolute(path_);
  core_->session().submit({.kind = operation::children, .path = path}, [core = core_.get(), path](const reply& listed) {
    const auto& lock = rule_of(contender_kind::lock);
    const auto is_lock = [&](const std::string& name) { return rival_of(lock, name).has_value(); };
    if (std::any_of(listed.children.begin(), listed.children.end(), is_lock)) warn_of_foreign_use(*core, path, lock);
  });
}

// The session ----------

void permit_queue::on_connected() {
  if (!at_work()) return;
  contract_->ask();
  if (leases_ && !few_enough()) list_->list(waited_);
  if (!leases_ && turn_ && turn_->granted()) collect();
}

void permit_queue::on_reassessed(const std::string& node) {
  if (leases_ && seen_ != 0 && parent_of(node) == *leases_path_) list_->list(true);
}

void permit_queue::on_session_over() {
  contract_->forget();
  waits_at_ = join(path_, permit_turns);
  drop_leases();
}

}  // namespace latchkey::detail
