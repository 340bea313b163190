// SPDX-License-Identifier: Apache-2.0
#include "session/lease_keeper.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/log.hpp"
#include "session/transaction_size.hpp"

namespace latchkey::detail {
namespace {

/// Of one proof: far below what an ensemble takes.
constexpr std::size_t most_checks = 1000;

}  // namespace

// Holders ----------

held_node& lease_keeper::enter(holder& who) {
  if (!who.entry.at_) {
    const auto [at, is_new] = holders_.try_emplace(who.node());
    assert(is_new);  // names are unique
    at->second.who = &who;
    at->second.number = ++entered_;
    who.entry.at_ = &*at;
  }
  return who.entry.at_->second;
}

void lease_keeper::add(holder& who, time_point now) {
  auto& mine = enter(who);
  if (!mine.awake()) ++awake_;
  mine.holding = true;
  mine.lingering = false;
  if (std::exchange(mine.asking, false)) --asking_;
  if (std::exchange(mine.next, false)) --expecting_;
  if (!deadline_timer_) await_deadline();
  if (clock_.wants_proof(now)) prove_if_due();
  beat_by(clock_.next_sync(now, true));
}

void lease_keeper::ask(holder& who) {
  if (std::exchange(enter(who).asking, true)) return;
  ++asking_;
  prove_if_due();
  beat_by(clock_.next_sync(monitor_.now(), true));
}

void lease_keeper::expect(holder& who) {
  if (std::exchange(enter(who).next, true)) return;
  ++expecting_;
  const auto now = monitor_.now();
  if (clock_.wants_proof(now)) prove_if_due();
  beat_by(clock_.next_sync(now, true));
}

void lease_keeper::remove(holder& who) {
  auto* const entry = std::exchange(who.entry.at_, nullptr);
  if (!entry) return;
  if (entry->second.awake()) --awake_;
  if (entry->second.asking) --asking_;
  if (entry->second.next) --expecting_;
  holders_.erase(holders_.find(entry->first));
  // The timers are left to run: they find no holder, and are not set again.
}

void lease_keeper::stop_proving(holder& who) {
  if (!who.entry.at_ || !who.entry.at_->second.awake()) return;
  auto& mine = who.entry.at_->second;
  if (std::exchange(mine.asking, false)) --asking_;
  mine.lingering = true;
  --awake_;
}

void lease_keeper::pause(holder& who) {
  if (!who.entry.at_) return;
  who.entry.at_->second.paused = true;
}

/// @returns the nodes of those that `which` chooses, the first to come first.
std::vector<std::string> lease_keeper::nodes_of(bool (*which)(const held_node&)) const {
  std::vector<std::pair<std::uint64_t, const std::string*>> chosen;
  for (const auto& [node, state] : holders_) {
    if (which(state)) chosen.emplace_back(state.number, &node);
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<std::string> nodes;
  nodes.reserve(chosen.size());
  for (const auto& [number, node] : chosen) nodes.push_back(*node);
  return nodes;
}

/// @returns what is known of the holder of that node; nothing of one that rests.
held_node* lease_keeper::find(const std::string& node) {
  const auto at = holders_.find(node);
  return at == holders_.end() || at->second.lingering ? nullptr : &at->second;
}

// Session ----------

/// A timeout does not grow in a session of ours, but ends it: a new leader knows only that of the creation
/// (`SessionTrackerImpl`), and a late touch from another server counts with the one of that server.
void lease_keeper::on_connected(std::optional<time_point> opened) {
  auto timing = timing_;
  timing.timeout = session_.info().timeout;
  if (timing.timeout > timing_.timeout) {  // the servers raised it, usually to two of their ticks
    timing.server_tick = std::max(timing.server_tick, timing.timeout / 2);
  }
  if (opened) {
    clock_.begin(timing, *opened);
    begin_lease();
  } else if (timing.timeout < clock_.timing().timeout) {
    lose_all(loss_reason::deadline_passed);  // the session may now end sooner than the grants were told
    clock_.begin_again(timing);
    begin_lease();
  }
  clock_.connected(monitor_.now());
  prove_if_due();
  send_beat();
}

void lease_keeper::begin_lease() {
  lease_ = std::make_shared<lease>();
  lease_->extend(clock_.valid_until());
  const auto& timing = clock_.timing();
  if (timing.server_tick <= timing.timeout / 5) return;
  log(log_level::info,
      "the session timeout is below five ticks of the servers, so leases bear only short stalls of the leader",
      {{"session_timeout_ms", timing.timeout},
       {"server_tick_ms", timing.server_tick},
       {"late_ping_ms", timing.ping_tolerance()}});
}

void lease_keeper::on_disconnected() {
  monitor_.cancel(beat_timer_);
  clock_.disconnected();
  answer_those_who_ask(nodes_of([](const held_node& each) { return each.asking; }), &holder::on_unproved);
}

void lease_keeper::stop() {
  monitor_.cancel(beat_timer_);
  monitor_.cancel(deadline_timer_);
  monitor_.cancel(warning_timer_);
}

void lease_keeper::on_answered(evidence what, time_point sent) {
  const auto now = monitor_.now();
  // An answer that comes too late revives no grant; those that are given from here on live by a lease of their own.
  if (!lease_->alive(now)) on_deadline();
  const auto before = clock_.valid_until();
  clock_.answered(what, sent, now);
  if (clock_.valid_until() == before) return;
  if (awake_ != 0) counts_.lease_extended(std::max(before - now, duration::zero()), now);
  if (!lease_->alive(now)) lease_ = std::make_shared<lease>();
  if (clock_.valid_until() > now) lease_->extend(clock_.valid_until());
  suspect_ = false;
}

// Proofs ----------

void lease_keeper::send_beat() {
  const auto now = monitor_.now();
  beat_by(clock_.next_sync(now, busy()));
  if (!session_.connected() || (timing_.trusts_network && !busy())) return;
  // A slow quorum makes syncs slow, too: then a read is answered first, and the sync that relays it goes as soon as it
  // may, not a beat later.
  if (unanswered_syncs_ != 0 || sync_took_ > clock_.timing().timeout / 12) {
    session_.submit(
        {.kind = operation::get, .path = "/"},
        [this](const reply&) {
          monitor_.in(clock_.timing().ping_gap(), [this] {
            if (asking_ != 0 && session_.connected()) send_sync();
          });
        },
        urgency::proof);
  }
  send_sync();
}

void lease_keeper::send_sync() {
  ++unanswered_syncs_;
  synced_at_ = monitor_.now();
  session_.submit(
      {.kind = operation::sync, .path = "/"},
      [this, sent = synced_at_](const reply&) {
        --unanswered_syncs_;
        sync_took_ = monitor_.now() - sent;
        prove_if_due();
      },
      urgency::proof);
}

/// At the latest then. Not before there is a connection: the next one begins with a beat.
void lease_keeper::beat_by(time_point time) {
  if (!session_.connected() || (beat_timer_ && beat_at_ <= time)) return;
  monitor_.cancel(beat_timer_);
  beat_at_ = time;
  beat_timer_ = monitor_.at(time, [this] {
    beat_timer_ = {};
    send_beat();
  });
}

void lease_keeper::prove_if_due() {
  if (!session_.connected()) return;
  const auto now = monitor_.now();
  const bool wanted = asking_ != 0 || (keeps() && clock_.wants_proof(now));
  if (wanted && clock_.provable(now)) prove();
}

void lease_keeper::prove() {
  const auto now = monitor_.now();
  if (!lease_->alive(now)) on_deadline();
  const auto nodes = nodes_of([](const held_node& each) { return each.needs_proof(); });
  if (nodes.empty()) return;
  clock_.proof_sent(now);
  check(nodes);
}

/// In as many transactions as it takes.
void lease_keeper::check(std::span<const std::string> nodes) {
  while (!nodes.empty()) {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < std::min(nodes.size(), most_checks); ++count) {
      bytes += bytes_of_step + nodes[count].size();
      if (bytes > session_.most_bytes() && count != 0) break;
    }
    check_at_once({nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count)});
    nodes = nodes.subspan(count);
  }
}

void lease_keeper::check_at_once(std::vector<std::string> nodes) {
  for (const auto& node : nodes) {
    if (auto* const mine = find(node)) mine->checking = true;
  }
  request checks{.kind = operation::transact, .steps = steps_for(step::operation::check, nodes)};
  session_.submit(
      std::move(checks),
      [this, nodes = std::move(nodes), sent = monitor_.now()](const reply& checked) {
        on_checked(nodes, sent, checked);
      },
      urgency::proof);
}

void lease_keeper::on_checked(std::vector<std::string> nodes, time_point sent, const reply& checked) {
  if (checked.code == reply_code::ok || checked.code == reply_code::no_node) counts_.proof.add(monitor_.now() - sent);
  for (const auto& node : nodes) {
    if (auto* const mine = find(node)) mine->checking = false;
  }
  if (checked.code == reply_code::no_node) {
    const auto failed = std::find(checked.results.begin(), checked.results.end(), reply_code::no_node);
    const auto index = failed - checked.results.begin();
    if (static_cast<std::size_t>(index) >= nodes.size()) return;
    lose_node(nodes[static_cast<std::size_t>(index)]);
    nodes.erase(nodes.begin() + index);
    // The ones behind it were not looked at. Those that have left meanwhile need not be.
    std::erase_if(nodes, [this](const std::string& node) { return find(node) == nullptr; });
    if (session_.connected()) check(nodes);
  } else if (checked.code == reply_code::ok && fresh()) {
    answer_those_who_ask(nodes, &holder::on_proved);
    check_latecomers();
  }
}

/// Those who have asked while that proof was under way have the lease; their nodes are still to be seen.
void lease_keeper::check_latecomers() {
  if (asking_ == 0 || !session_.connected()) return;
  check(nodes_of([](const held_node& each) { return each.asking && !each.checking; }));
}

void lease_keeper::answer_those_who_ask(const std::vector<std::string>& nodes, void (holder::*how)()) {
  for (const auto& node : nodes) {
    if (asking_ == 0) return;
    const auto at = holders_.find(node);  // the answer to another may have removed it
    if (at == holders_.end() || !std::exchange(at->second.asking, false)) continue;
    --asking_;
    auto& who = *at->second.who;
    if (!at->second.holding) remove(who);
    (who.*how)();
  }
}

}  // namespace latchkey::detail
