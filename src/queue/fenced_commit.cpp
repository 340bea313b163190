// SPDX-License-Identifier: Apache-2.0
#include "queue/fenced_commit.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "queue/refusal.hpp"

namespace latchkey::detail {
namespace {

using outcome = commit_result::outcome;

}  // namespace

fenced_commit::fenced_commit(std::shared_ptr<grant_state> held, fenced_steps what)
    : held_{std::move(held)}, core_{held_->core()}, node_{held_->node()}, what_{std::move(what)} {}

void fenced_commit::start(time_point until) {
  epoch_ = core_.session().epoch();
  timer_ = core_.monitor().at(until, [self = shared_from_this()] {
    self->timer_ = {};
    self->on_timeout();
  });
  go_on();
}

commit_result fenced_commit::finish() const {
  if (failed_) failed_->throw_it();
  return *result_;
}

reply_callback fenced_commit::then(void (fenced_commit::*what)(const reply&)) {
  const auto self = shared_from_this();
  return while_wanted{[self] { return self->state_ == state::over; },
                      [self, what](const reply& answer) {
                        if (self->state_ != state::over) ((*self).*what)(answer);
                      }};
}

/// When there is a connection, or can be none any more.
void fenced_commit::go_on() {
  if (state_ == state::over) return;
  const bool held = !held_->ended();
  if (!was_sent_ && !held && !what_.marked) return conclude(outcome::lock_lost);
  if (core_.failed()) return was_sent_ ? conclude(outcome::in_doubt) : fail(*core_.failed());
  if (!core_.session().connected()) return await_connection();
  if (!held) return what_.marked ? fence_off() : conclude(outcome::in_doubt);
  state_ == state::doubtful ? look() : send();
}

void fenced_commit::await_connection(duration at_most) {
  connection_ = core_.after_pause(at_most, [self = shared_from_this()] {
    self->connection_ = 0;
    self->go_on();
  });
}

// The transaction ----------

void fenced_commit::send() {
  auto* const holder = core_.lease_keeper().holder_of(node_);
  removes_ = what_.releases && holder && holder->begin_release();
  if (removes_) held_->begin_release();
  request all{.kind = operation::transact};
  all.steps.push_back({.what = step::operation::check, .path = node_});
  for (const auto& each : held_->other_nodes()) all.steps.push_back({.what = step::operation::check, .path = each});
  all.steps.insert(all.steps.end(), what_.steps.begin(), what_.steps.end());
  if (removes_) all.steps.push_back({.what = step::operation::remove, .path = node_});
  state_ = state::sent;
  was_sent_ = true;
  held_->transaction_sent();
  core_.session().submit(std::move(all), then(&fenced_commit::on_answer));
}

void fenced_commit::on_answer(const reply& answer) {
  if (!is_lost(answer.code) && answer.code != reply_code::session_over) held_->transaction_answered();
  switch (answer.code) {
    case reply_code::ok:
      end_release(true);
      return conclude(outcome::committed);
    case reply_code::not_sent:
      return send_again();
    case reply_code::unknown_outcome:
    case reply_code::session_over:
      return doubt();
    case reply_code::too_large:
      end_release(false);
      return fail(refusal(core_, answer.code, {}));
    default:
      return on_refused(answer);
  }
}

void fenced_commit::on_refused(const reply& answer) {
  end_release(false);
  const auto& results = answer.results;
  const auto failed = std::find_if(results.begin(), results.end(), [](auto code) { return code != reply_code::ok; });
  const auto failed_at = static_cast<std::size_t>(failed - results.begin());
  const auto others = held_->other_nodes().size();
  const auto at = failed_at - std::min(failed_at, others);  // 0: a check; the first step is 1
  const auto steps = what_.steps.size();
  if (at == 0 && answer.code == reply_code::no_node) {
    return on_lock_lost(failed_at == 0 ? node_ : held_->other_nodes()[failed_at - 1]);
  }
  if (at == 0 || at > steps) {  // its own node: of the steps none is to blame
    const bool denied = answer.code == reply_code::no_permission;
    return fail(
        {denied ? errc::not_authorized : errc::refused,
         fmt::format("the node of the grant could not be checked or deleted ({}); {}", name_and_number(answer.code),
                     denied ? "grant this client the permissions r and d on the lock's path"
                            : "repeat it while the lock is held"),
         {}});
  }
  if (what_.marked && at == 1 && answer.code == reply_code::node_exists) return conclude(outcome::committed);
  const bool of_marker = what_.marked && at == 1;
  conclude({.what = outcome::refused,
            .step = of_marker ? commit_result::marker : at - (what_.marked ? 2 : 1),
            .why = std::string{zookeeper_name(answer.code)}});
}

/// The leader does not have the node: the grant is told before its own watch speaks.
void fenced_commit::on_lock_lost(const std::string& gone) {
  core_.lease_keeper().lose_node(gone);
  was_sent_ = false;
  if (what_.marked) return fence_off();
  conclude(outcome::lock_lost);
}

/// It has not been applied.
void fenced_commit::send_again() {
  end_release(false);
  state_ = state::ready;
  was_sent_ = false;
  if (result_) return end();
  go_on();
}

// Doubt ----------

void fenced_commit::doubt() {
  state_ = state::doubtful;
  if (!what_.marked && !removes_) return conclude(outcome::in_doubt);
  if (core_.failed()) return go_on();
  await_connection({});  // not at once: the end of the connection is still being told
}

/// The grant is held, so the session goes on. The transaction may still be on its way to the leader when another server
/// answers, and a server that has lost a deletion (ZOOKEEPER-4785) shows the node for ever: only the leader tells.
void fenced_commit::look() {
  state_ = state::looking;
  core_.session().submit({.kind = operation::transact, .steps = {{.path = node_}}},
                         then(&fenced_commit::on_node_checked));
}

void fenced_commit::on_node_checked(const reply& checked) {
  if (is_lost(checked.code)) return doubt();
  node_gone_ = checked.code == reply_code::no_node;
  if (removes_ && !node_gone_) return conclude_by(found::not_written);
  what_.marked ? read_marker() : conclude_by(found::nothing);
}

/// The grant is over, and its session perhaps. Once its node has been deleted, a transaction that is still on its way
/// fails; one that was applied before is seen by the read that follows on the same connection. The node may be
/// that of the next turn, or of other readers: then its session goes on, and a sync tells as much.
void fenced_commit::fence_off() {
  state_ = state::fencing_off;
  node_gone_ = true;
  const bool passed_on = core_.lease_keeper().holder_of(node_) || (!held_->loss() && core_.session().epoch() == epoch_);
  core_.session().submit({.kind = passed_on ? operation::sync : operation::remove, .path = node_},
                         then(&fenced_commit::on_fenced_off));
}

void fenced_commit::on_fenced_off(const reply& done) {
  if (is_lost(done.code)) return doubt();
  if (done.code == reply_code::ok || done.code == reply_code::no_node) return read_marker();
  conclude(outcome::in_doubt);
}

/// Only the marker tells: whatever else a transaction writes, others may write, too, or undo.
void fenced_commit::read_marker() {
  core_.session().submit({.kind = operation::get, .path = what_.steps.front().path, .most_data = 0},
                         then(&fenced_commit::on_marker_read));
}

void fenced_commit::on_marker_read(const reply& read) {
  if (is_lost(read.code)) return doubt();
  if (read.code == reply_code::ok) return conclude_by(found::written);
  conclude_by(read.code == reply_code::no_node ? found::not_written : found::nothing);
}

void fenced_commit::conclude_by(found what) {
  if (what == found::not_written && !node_gone_) return send_again();
  if (state_ == state::looking && node_gone_ && !removes_) core_.lease_keeper().lose_node(node_);
  end_release(node_gone_);
  if (what == found::written) return conclude(outcome::committed);
  conclude(what == found::not_written ? outcome::lock_lost : outcome::in_doubt);
}

// End ----------

void fenced_commit::on_timeout() {
  if (result_ || failed_) return;
  if (!was_sent_ && state_ == state::ready) {
    return fail(
        {errc::unreachable,
         "no server could be asked in time, and this call has written nothing; give it more time, or check the connect "
         "string, the servers and the network",
         {}});
  }
  result_ = commit_result{.what = outcome::in_doubt};
  core_.monitor().wake({shared_from_this(), &point_});
  if (!removes_) end();
}

/// @param gone whether the node of the grant is. If so, the grant ends as if it had been unlocked; if not, it goes on.
void fenced_commit::end_release(bool gone) {
  if (!std::exchange(removes_, false)) return;
  gone ? held_->release() : held_->resume();
  if (auto* const holder = core_.lease_keeper().holder_of(node_)) holder->end_release(gone);
}

void fenced_commit::conclude(outcome what) { conclude(commit_result{.what = what}); }

void fenced_commit::conclude(commit_result what) {
  if (!result_) {
    result_ = std::move(what);
    core_.monitor().wake({shared_from_this(), &point_});
  }
  end();
}

void fenced_commit::fail(const failure& why) {
  if (!result_) {
    failed_ = why.at(held_->path());
    core_.monitor().wake({shared_from_this(), &point_});
  }
  end();
}

void fenced_commit::end() {
  state_ = state::over;
  core_.monitor().cancel(timer_);
  core_.forget_connected(connection_);
}

}  // namespace latchkey::detail
