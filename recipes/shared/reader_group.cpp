// SPDX-License-Identifier: Apache-2.0
#include "recipes/shared/reader_group.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::detail {
namespace {

/// The turns of one place: a token has no room for more than twice as many.
constexpr std::uint32_t most_turns = 1u << 31;

}  // namespace

/// The readers of one place. It is theirs alone once another one is the newest: no more of them join.
class reader_group::crowd final : public place_listener {
 public:
  explicit crowd(reader_group& of) : of_{of} {}

  /// The last one has left, or will not come back.
  void end() {
    if (const auto left = std::exchange(place_, nullptr)) left->leave();
  }

  void own(std::shared_ptr<place> with) {
    place_ = std::move(with);
    place_->listen(*this);
  }

  std::size_t members = 0;

 private:
  void on_granted() override {}
  void on_refused() override {}
  void on_suspect() override {
    of_.for_members_of(*this, [](grant_state& each) { each.suspect(); });
  }
  void on_lost(loss_reason why) override {
    place_ = nullptr;
    of_.for_members_of(*this, [why](grant_state& each) { each.lose(why); });
  }
  void on_failed(const failure&) override { place_ = nullptr; }
  void on_asked_to_release() override {
    of_.for_members_of(*this, [](grant_state& each) { each.ask_to_release(); });
  }

  reader_group& of_;
  std::shared_ptr<place> place_;  // no longer the shared one
};

/// If a writer came in between, a reader that waits would wait for ever.
const lock_line::wording reader_group::among_readers{"unlock_shared()",
                                                     "already holds the lock as a reader; release that first", false};

reader_group::reader_group(std::shared_ptr<client_core> core, std::string path, readers_options options)
    : shared_place{core,           std::move(path),  contender_kind::read, core->group(options.group),
                   options.linger, options.max_hold, hand_off::ensemble,   among_readers},
      share_for_{options.share_for},
      newest_{std::make_shared<crowd>(*this)} {}

// Callers ----------

void reader_group::end(hold& mine, time_point now) {
  auto left = std::move(mine.on);
  holders_.end(mine, now);
  if (leave_crowd(std::move(left))) rest_if_unwanted(now);
  rest_if_unused();
}

/// @returns whether it was the last reader of the present place.
bool reader_group::leave_crowd(std::shared_ptr<place_listener> left) {
  const auto where = std::static_pointer_cast<crowd>(std::move(left));
  if (!where || --where->members != 0) return false;
  where->end();
  return where == newest_;
}

void reader_group::on_overdue(hold& which) {
  if (!leave_crowd(std::exchange(which.on, nullptr))) return;
  give_up();
  if (!line_.empty()) take();
}

void reader_group::end_all() {
  holders_.for_each([this](hold& each) {
    each.grant->release();
    leave_crowd(std::exchange(each.on, nullptr));
  });
  holders_.clear();
}

void reader_group::adopt(std::shared_ptr<place> granted, std::uint32_t turns, std::uint64_t fiber) {
  const auto now = core_->monitor().now();
  const auto& node = granted->node();
  const auto fence = granted->fence(turns);
  ++counts_.downgrades;
  observe();
  if (place_) {  // other readers wait, in a place behind
    const auto where = std::make_shared<crowd>(*this);
    where->own(granted);
    join(where, fiber, node, fence, now);
  } else {
    granted->listen(*this);
    place_ = granted;
    state_ = state::granted;
    used_ = true;
    asked_to_release_ = false;
    turns_ = turns + 1;
    shared_until_ = deadline_after(now, share_for_);
    join(newest_, fiber, node, fence, now);
  }
  gate_opened();  // for those who waited for the writer
}

// Sharing ----------

bool reader_group::in_use() const noexcept { return newest_->members != 0; }

void reader_group::granted_at(time_point now) {
  if (!used_) shared_until_ = deadline_after(now, share_for_);
  shared_place::granted_at(now);
}

void reader_group::let_in(time_point now) {
  if (used_) return go_on(now);
  join_all(now);
}

/// The calls join the readers of this entry if they may, or have one of their own.
void reader_group::go_on(time_point now) {
  if (asked_to_release_ || turns_ >= most_turns) return take_another();
  if (wake() && !refresh(now)) return;      // proved first
  if (!gate_open()) return refuse_tries();  // the others wait until it opens
  remote_waiters_->watch();
  const auto known = remote_waiters_->known();
  if (known == remote_waiters::answer::none || now < shared_until_) {
    if (core_->lease_keeper().fresh(now)) return join_all(now);
    if (!static_cast<queue_entry&>(*place_).confirm()) on_unconfirmed();
  } else if (known != remote_waiters::answer::asked) {  // otherwise the answer decides
    if (!core_->session().connected()) return on_unconfirmed();
    take_another();
  }
}

/// A new place waits until a proof is to be had. A try does not take a new place.
void reader_group::on_unconfirmed() {
  refuse_tries();
  if (!line_.empty()) take_another();
}

void reader_group::join_all(time_point now) {
  while (!line_.empty()) {
    const auto& next = line_.front();
    const auto [fence, source] = next_turn();
    join(newest_, next->fiber, place_->node(), fence, now);
    line_.grant(next, source, now);
  }
}

void reader_group::join(const std::shared_ptr<crowd>& where, std::uint64_t fiber, const std::string& node,
                        fencing_token fence, time_point now) {
  auto& mine = holders_.begin(*this, fiber, node, fence, now);
  mine.on = where;
  ++where->members;
  if (where == newest_ && asked_to_release_) mine.grant->ask_to_release();
}

void reader_group::on_remote_waiters() {
  switch (remote_waiters_->known()) {
    case remote_waiters::answer::waiting:
      shared_until_ = std::min(shared_until_, deadline_after(core_->monitor().now(), share_for_));
      break;
    case remote_waiters::answer::gone:
      shared_until_ = time_point::min();
      break;
    default:
      shared_until_ = never;
  }
  shared_place::on_remote_waiters();
}

/// The readers of the present entry keep it until the last one has left.
void reader_group::take_another() {
  if (in_use()) {
    newest_->own(release());
    newest_ = std::make_shared<crowd>(*this);
  } else {
    give_up();
  }
  take();
}

/// What they have lost stays with its readers until they unlock.
void reader_group::on_lost(loss_reason why) {
  for_each_grant([why](grant_state& each) { each.lose(why); });
  if (in_use()) newest_ = std::make_shared<crowd>(*this);
  shared_place::on_lost(why);
}

void reader_group::for_members_of(const crowd& where, const std::function<void(grant_state&)>& what) {
  holders_.for_each([&](hold& each) {
    if (each.on.get() == &where) what(*each.grant);
  });
}

}  // namespace latchkey::detail
