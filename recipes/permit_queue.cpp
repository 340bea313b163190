// SPDX-License-Identifier: Apache-2.0
#include "recipes/permit_queue.hpp"

#include <utility>

#include "base/path.hpp"
#include "recipes/rules.hpp"

namespace latchkey::detail {

permit_queue::permit_queue(std::shared_ptr<client_core> core, const std::string& path, std::uint32_t permits,
                           bool contract, permit_queue_listener& listener)
    : core_{std::move(core)},
      path_{path},
      locks_{std::make_shared<const std::string>(join(core_->absolute(path), "locks"))},
      leases_path_{std::make_shared<const std::string>(join(core_->absolute(path), "leases"))},
      waits_at_{join(path, "locks")},
      listener_{listener},
      contract_{std::make_shared<permit_contract>(*core_, path, permits, contract,
                                                  [this](const auto& failed) { on_contract(failed); })},
      list_{std::make_shared<watched_children>(
          *core_, *leases_path_, [this](const reply& listed) { on_leases_listed(listed); },
          [this] { list_->list(true); })} {}

// The turn ----------

void permit_queue::take(std::uint32_t count, bool once) {
  if (std::exchange(count_, count) != count && leases_) {
    drop_leases();
    if (is_first()) collect();
  }
  if (turn_) return;
  once_ = once;
  waited_ = false;
  waits_at_ = join(path_, "locks");
  contract_->ask();
  if (once) list_->list(false);  // its answer comes before the turn writes anything
  turn_ = std::make_shared<queue_entry>(core_, locks_, rule_of(contender_kind::lock), *this);
  turn_->start(patience_of(once), std::move(former_));
  if (turn_ && !once && likely_free_ && core_->session().connected()) collect();
}

void permit_queue::give_up() {
  drop_leases();
  if (const auto left = std::exchange(turn_, nullptr)) left->leave();
}

void permit_queue::on_granted() {
  if (leases_) return conclude();
  if (!once_ || !list_->asked()) collect();
}

void permit_queue::on_delayed() {
  likely_free_ = false;
  waited_ = true;
  if (!is_first()) drop_leases();
  if (once_) refuse();
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
  listener_.on_queue_failed({why.code, why.what, path_});
}

// The leases ----------

void permit_queue::drop_leases() {
  seen_ = 0;
  list_->stop();
  if (const auto left = std::exchange(leases_, nullptr)) left->leave();
}

/// In one round trip, with what has been sent for the turn: requests of a session are served in order, so the list of
/// the last lease shows all of them.
void permit_queue::collect() {
  seen_ = 0;
  leases_ = std::make_shared<permit>(core_, leases_path_, count_, *this);
  leases_->start();
  if (leases_ && waited_) list_->list(true);
}

void permit_queue::count(const std::vector<std::string>& children) {
  if (!leases_ || !leases_->is_in(children)) return;  // older than they are; or one is gone, which is told
  seen_ = core_->reaper().remaining(*leases_path_, children).size();
  refused_ = core_->reaper().refused(*leases_path_, children);
}

void permit_queue::on_ready(permit&) {
  contract_->ask();
  if (few_enough() || list_->asked()) return conclude();
  seen_ == 0 ? list_->list(waited_) : on_too_many();
}

void permit_queue::on_over(permit&, loss_reason) {
  leases_ = nullptr;
  seen_ = 0;
  list_->stop();
  if (is_first()) collect();
}

void permit_queue::on_leases_listed(const reply& listed) {
  if (listed.code != reply_code::ok && listed.code != reply_code::no_node) return;  // the entries hear of it
  if (!leases_) {                                                                   // a try that has not begun
    const auto taken = core_->reaper().remaining(*leases_path_, listed.children).size();
    return taken + count_ > contract_->permits() ? refuse() : collect();
  }
  seen_ = 0;
  count(listed.children);
  if (seen_ == 0) return;
  if (!few_enough()) return on_too_many();
  list_->stop();
  conclude();
}

void permit_queue::on_too_many() {
  if (once_) return refuse();
  likely_free_ = false;
  waited_ = true;
  if (!is_first()) return drop_leases();
  if (refused_.size() + count_ > contract_->permits()) return refuse_behind_own();
  waits_at_ = join(path_, "leases");
  leases_->stop_proving();
  if (turn_->granted()) turn_->stop_proving();
  if (!list_->watching()) list_->list(true);
}

/// Leases of ours that the ensemble does not let us delete stay until our session ends.
void permit_queue::refuse_behind_own() {
  for (const auto& name : refused_) core_->reaper().try_again(join(*leases_path_, name));
  on_failed({errc::not_authorized,
             "this client may not delete earlier leases of its own, which take all permits (ZNOAUTH); grant it the "
             "permissions c, d and r",
             {}});
}

void permit_queue::on_contract(const std::optional<failure>& failed) {
  if (failed) return on_failed(*failed);
  listener_.on_permits_changed();
  if (!leases_) return;
  if (few_enough() || list_->asked()) return conclude();
  list_->list(waited_);
}

void permit_queue::conclude() {
  if (!few_enough() || !contract_->agreed() || !turn_ || !turn_->granted() || !leases_->ready()) return;
  if (!leases_->refresh(core_->monitor().now())) return;
  const auto what = std::exchange(leases_, nullptr);
  const auto left = std::exchange(turn_, nullptr);
  const bool waited = waited_ || left->waited();
  likely_free_ = !waited;
  seen_ = 0;
  if (listener_.more_wait()) {
    former_ = left->leave_for_another(1);
  } else {
    left->leave();
  }
  listener_.on_collected(what, waited);
}

// The session ----------

void permit_queue::on_connected() {
  if (!turn_) return;
  contract_->ask();
  if (leases_ && !few_enough()) list_->list(waited_);
}

void permit_queue::on_reassessed(const std::string& node) {
  if (leases_ && seen_ != 0 && parent_of(node) == *leases_path_) list_->list(true);
}

void permit_queue::on_session_over() {
  contract_->forget();
  waits_at_ = join(path_, "locks");
  drop_leases();
}

}  // namespace latchkey::detail
