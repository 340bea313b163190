// SPDX-License-Identifier: Apache-2.0
#include "recipes/line/cohort.hpp"

#include <limits>
#include <utility>

namespace latchkey::detail {
namespace {

/// A token has no room for more.
constexpr auto last_turn = std::numeric_limits<std::uint32_t>::max();

}  // namespace

cohort_options cohort_options::checked(cohort_options options, const std::string& path) {
  if (options.turns == 0) throw error{errc::bad_option, "the option turns must be at least 1", path};
  require_not_negative("linger", options.linger, path);
  require_not_negative("max_hold", options.max_hold, path);
  return options;
}

cohort::cohort(std::shared_ptr<client_core> core, std::string path, contender_kind kind, const cohort_options& options)
    : cohort{core, std::move(path), kind, options, core->group(options.group)} {}

cohort::cohort(std::shared_ptr<client_core> core, std::string path, contender_kind kind, const cohort_options& options,
               lock_counts& counts)
    : shared_place{std::move(core), std::move(path), kind, counts, options.linger, options.max_hold, options.how},
      most_turns_{options.turns},
      record_{options.record} {}

// Callers ----------

bool cohort::is_hopeless(std::uint64_t) { return in_use() || !line_.empty() || core_->is_cut_off(); }

void cohort::end(hold& mine, time_point now) {
  holders_.end(mine, now);
  bound_ = bound_ || mine.grant->bound();
  if (on_downgraded_) {  // another fiber has unlocked meanwhile
    give_up();
    fail_downgrade();
  }
  advance(now);
}

// Turns ----------

void cohort::go_on(time_point now) {
  if (!holders_.empty()) return;
  wake();
  if (may_go_on()) {
    if (refresh(now)) granted_at(now);
  } else if (remote_waiters_->known() != remote_waiters::answer::asked) {
    give_up_for_another();
    take();
  }  // otherwise the answer decides
}

/// Whether the entry may be passed on once more. From half the turns on it pays to know of remote waiters.
bool cohort::may_go_on() {
  if (asked_to_release_ || releasing_ || turns_ == last_turn) return false;
  if (most_turns_ == 0) return !used_;
  if (!used_) counted_ = 0;
  if ((counted_ + 1) * 2 >= most_turns_) remote_waiters_->watch();
  switch (remote_waiters_->known()) {
    case remote_waiters::answer::none:
      counted_ = 0;
      return true;
    case remote_waiters::answer::gone:
      return false;
    default:
      return counted_ < most_turns_;
  }
}

void cohort::let_in(time_point now) {
  const auto& next = line_.front();
  counted_ = used_ ? counted_ + 1 : 1;
  const auto [fence, source] = next_turn();
  const auto& mine = holders_.begin(*this, next->fiber, place_->node(), fence, now);
  if (asked_to_release_) mine.grant->ask_to_release();
  line_.grant(next, source, now);
}

void cohort::on_lost(loss_reason why) {
  shared_place::on_lost(why);
  fail_downgrade();
}

void cohort::on_failure(const failure& why) {
  shared_place::on_failure(why);
  fail_downgrade();
}

// From writer to reader ----------

void cohort::downgrade(std::function<void(std::shared_ptr<place>, std::uint32_t)> done) {
  if (!granted()) return done(nullptr, 0);
  on_downgraded_ = std::move(done);
  holders_.only()->grant->release();  // readers of others are let in before we hear that it is done
  static_cast<queue_entry&>(*place_).downgrade();
}

void cohort::on_downgraded() {
  const auto now = core_->monitor().now();
  holders_.end(*holders_.only(), now);
  std::exchange(on_downgraded_, {})(release(), turns_);
  advance(now);
}

void cohort::fail_downgrade() {
  if (on_downgraded_) std::exchange(on_downgraded_, {})(nullptr, 0);
}

}  // namespace latchkey::detail
