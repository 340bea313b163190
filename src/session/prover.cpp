// SPDX-License-Identifier: Apache-2.0
#include "session/prover.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace latchkey::detail {
namespace {

/// Keeps a multi far below the largest packet of the ensemble (1 MiB).
constexpr std::size_t checks_per_multi = 1000;

}  // namespace

void prover::add(holder& who) {
  if (!who.entry.at_) {
    const auto [at, is_new] = holders_.try_emplace(who.node());
    assert(is_new);  // names are unique
    at->second.who = &who;
    who.entry.at_ = &*at;
    ++awake_;
  } else if (std::exchange(who.entry.at_->second.resting, false)) {
    ++awake_;
  }
  // Of the proof on which it was granted there may be no more left than T/4.
  if (!proof_timer_ || proof_at_ > clock_.prove_by()) prove_later(strand_.now());
  if (!deadline_timer_) await_deadline();
}

void prover::remove(holder& who) {
  auto* const entry = std::exchange(who.entry.at_, nullptr);
  if (!entry) return;
  if (!entry->second.resting) --awake_;
  holders_.erase(holders_.find(entry->first));
  // The timers are left to run: they find nobody, and are not set again.
}

void prover::rest(holder& who) {
  if (!who.entry.at_ || who.entry.at_->second.resting) return;
  auto& mine = who.entry.at_->second;
  mine.resting = true;
  --awake_;
}

void prover::pause(holder& who) {
  if (!who.entry.at_) return;
  who.entry.at_->second.paused = true;
}

/// @returns what is known of the holder of that node; nothing of one that rests.
held_node* prover::find(const std::string& node) {
  const auto at = holders_.find(node);
  return at == holders_.end() || at->second.resting ? nullptr : &at->second;
}

void prover::on_connected(bool new_session) {
  if (new_session) {
    clock_.begin(session_.info().timeout, strand_.now());
    pulse_ = std::make_shared<pulse>();
    keep_time();
  }
  if (awake_ != 0) prove();
}

/// Goes on as long as there is a session, without a request: see `liveness_clock::beat`.
void prover::keep_time() {
  strand_.cancel(beat_timer_);
  beat_timer_ = strand_.in(clock_.beat_interval(), [this] {
    beat_timer_ = {};
    clock_.beat(strand_.now());
    keep_time();
  });
}

void prover::on_proof(time_point sent) {
  const auto now = strand_.now();
  if (!pulse_->alive(now)) {
    // A proof that comes too late revives nobody; those who are granted from here on live by a pulse of their own.
    lose_all(loss_reason::deadline_passed);
    pulse_ = std::make_shared<pulse>();
  }
  clock_.proved(sent, now);
  if (clock_.valid_until() > now) pulse_->extend(clock_.valid_until());
  suspect_ = false;
}

void prover::stop() {
  strand_.cancel(beat_timer_);
  strand_.cancel(proof_timer_);
  strand_.cancel(deadline_timer_);
}

/// A quarter of the session timeout from now, or as soon as that would be too late.
void prover::prove_later(time_point now) {
  prove_at(std::clamp(clock_.prove_by(), now, now + clock_.proof_interval()));
}

void prover::prove_at(time_point time) {
  strand_.cancel(proof_timer_);
  proof_at_ = time;
  proof_timer_ = strand_.at(time, [this] {
    proof_timer_ = {};
    prove();
  });
}

void prover::prove() {
  if (awake_ == 0) return;
  const auto now = strand_.now();
  if (!pulse_->alive(now)) return on_deadline();
  prove_at(now + clock_.proof_interval());  // should there be no answer
  if (!session_.connected()) return;
  std::vector<std::string> nodes;
  for (auto& [node, state] : holders_) {
    if (state.paused || state.resting) continue;
    nodes.push_back(node);
    if (nodes.size() == checks_per_multi) check(std::exchange(nodes, {}));
  }
  if (!nodes.empty()) check(std::move(nodes));
}

void prover::check(std::vector<std::string> nodes) {
  request multi{.kind = operation::check, .paths = nodes};
  session_.submit(std::move(multi),
                  [this, nodes = std::move(nodes)](const reply& checked) { on_checked(nodes, checked); });
}

void prover::on_checked(const std::vector<std::string>& nodes, const reply& checked) {
  if (checked.code == reply_code::ok) {
    // The next proof makes this one known to the leader: it is to be sent so long after this answer. One that has come
    // too late for a next one, as after this process was stopped, leaves the timer as it is.
    const auto now = strand_.now();
    if (awake_ != 0 && clock_.prove_by() > now) prove_later(now);
    return;
  }
  if (checked.code != reply_code::no_node) return;
  const auto failed = std::find(checked.results.begin(), checked.results.end(), reply_code::no_node);
  const auto index = static_cast<std::size_t>(failed - checked.results.begin());
  if (index >= nodes.size()) return;
  lose_node(nodes[index]);
  if (session_.connected()) prove();  // the ones behind it were not looked at
}

void prover::lose_node(const std::string& node) {
  const auto* const mine = find(node);
  if (mine && !mine->paused) lose(*mine->who, loss_reason::node_deleted);
}

void prover::lose(holder& who, loss_reason why) {
  remove(who);
  who.on_lost(why);
}

void prover::await_deadline() {
  strand_.cancel(deadline_timer_);
  const auto now = strand_.now();
  const auto suspect_at = clock_.suspect_at();
  deadline_timer_ = strand_.at(suspect_at > now ? suspect_at : clock_.valid_until(), [this] {
    deadline_timer_ = {};
    on_deadline();
  });
}

void prover::on_deadline() {
  if (awake_ == 0) return;
  const auto now = strand_.now();
  if (!pulse_->alive(now)) {
    lose_all(loss_reason::deadline_passed);
    pulse_ = std::make_shared<pulse>();
    return;
  }
  if (now >= clock_.suspect_at() && !std::exchange(suspect_, true)) {
    for (const auto& [node, state] : holders_) {
      if (!state.resting) state.who->on_suspect();
    }
  }
  await_deadline();
}

void prover::lose_all(loss_reason why) {
  pulse_->stop();
  std::vector<std::string> nodes;
  for (const auto& [node, state] : holders_) {
    if (!state.resting) nodes.push_back(node);
  }
  for (const auto& node : nodes) {
    if (const auto* const mine = find(node)) lose(*mine->who, why);  // the loss of another may have removed it
  }
}

}  // namespace latchkey::detail
