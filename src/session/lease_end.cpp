// SPDX-License-Identifier: Apache-2.0
/// How grants end with the lease, and who is warned before that.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "session/lease_keeper.hpp"

namespace latchkey::detail {

// Loss ----------

void lease_keeper::lose_node(const std::string& node) {
  const auto* const mine = find(node);
  if (mine && !mine->paused) lose(*mine->who, loss_reason::node_deleted);
}

void lease_keeper::lose(holder& who, loss_reason why) {
  remove(who);
  who.on_lost(why);
}

void lease_keeper::lose_all(loss_reason why) {
  if (awake_ != 0 && monitor_.now() >= clock_.valid_until() + monitor::long_stop) {
    const std::chrono::duration<double> stopped =
        std::max<duration>(monitor_.now() - clock_.valid_until(), monitor_.stopped_for());
    log(log_level::warning,
        fmt::format("this process did not run for {:.1f} s or longer, and the lease of its locks has ended",
                    stopped.count()));
  }
  lease_->stop(why);
  for (const auto& node : nodes_of([](const held_node& each) { return each.awake(); })) {
    if (const auto* const mine = find(node)) lose(*mine->who, why);  // the loss of another may have removed it
  }
}

// Deadline ----------

void lease_keeper::await_deadline() {
  monitor_.cancel(deadline_timer_);
  const auto now = monitor_.now();
  const auto suspect_at = clock_.suspect_at();
  const auto due = suspect_at > now ? suspect_at : clock_.valid_until();
  deadline_timer_ = monitor_.at(due, [this] {
    deadline_timer_ = {};
    on_deadline();
  });
}

void lease_keeper::on_deadline() {
  if (awake_ == 0) return;
  const auto now = monitor_.now();
  if (!lease_->alive(now)) {
    lose_all(loss_reason::deadline_passed);
    lease_ = std::make_shared<lease>();
    return;
  }
  if (now >= clock_.suspect_at() && !std::exchange(suspect_, true)) {
    ++counts_.client.suspects;
    for (const auto& [node, state] : holders_) {
      if (state.awake()) state.who->on_suspect();
    }
  }
  await_deadline();
}

// Warnings ----------

warning_id lease_keeper::warn(duration before, std::function<void()> what) {
  const auto now = monitor_.now();
  const auto grace = session_.connected() ? clock_.timing().timeout / 12 : duration::zero();
  const auto earliest = now + grace;
  const auto id = warnings_.add(before, earliest, std::move(what));
  clock_.reserve(warnings_.longest());
  if (clock_.wants_proof(now)) prove_if_due();
  beat_by(std::max(now, synced_at_ + clock_.beat_interval(true)));
  await_warning(std::max(earliest, clock_.valid_until() - before));
  return id;
}

void lease_keeper::stop_warning(const warning_id& id) {
  warnings_.remove(id);
  clock_.reserve(warnings_.longest());
}

/// A proof only moves it on, which the timer finds out.
void lease_keeper::await_warning(time_point next) {
  if (warning_timer_ && warning_timer_.time <= next) return;
  monitor_.cancel(warning_timer_);
  warning_timer_ = monitor_.at(next, [this] {
    warning_timer_ = {};
    const auto now = monitor_.now();
    while (const auto what = warnings_.take_due(clock_.valid_until(), now)) what();
    clock_.reserve(warnings_.longest());
    await_warning(warnings_.next(clock_.valid_until(), now));
  });
}

}  // namespace latchkey::detail
