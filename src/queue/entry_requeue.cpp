// SPDX-License-Identifier: Apache-2.0
/// How an entry follows on a former one of the same object: both in one transaction.

#include <algorithm>
#include <limits>
#include <utility>

#include "base/node_name.hpp"
#include "base/path.hpp"
#include "queue/queue_entry.hpp"

namespace latchkey::detail {

std::unique_ptr<kept_node> queue_entry::leave_for_another(std::uint32_t turn, bool closed) {
  constexpr auto enough = std::numeric_limits<std::uint32_t>::max() / 2;  // turns: a token has no room for more
  turn = std::max(turn, first_turn_);
  const bool of_use =
      state_ == state::granted && kind_->exclusive() && turn < enough && !followed() && through().connected();
  if (!of_use) {
    leave(closed);
    return nullptr;
  }
  const auto self = shared_from_this();
  auto left = std::make_unique<kept_node>(
      kept_node{.node = node_, .next = {czxid_, turn}, .contended = waited_, .last = {}, .behind = 0, .used = 0});
  if (behind_) {
    left->last = std::move(behind_->last);
    left->behind = behind_->count;
  }
  const bool told = tell_peers(closed);
  bind_node(closed);
  core_->reaper().remove_soon(node_, told ? reaper::patience_if_told : reaper::patience, listener_->last_words());
  finish();
  step_out();
  return left;
}

/// The create, and the deletion of the former node with what goes along, in one transaction. @returns false if it is too late
/// for that.
bool queue_entry::requeue(std::unique_ptr<kept_node> former) {
  if (neighbours_ && neighbours_->any()) return false;
  request both{.kind = operation::transact, .steps = {{.what = step::operation::create}}};
  const auto along = core_->reaper().hand_over(former->node, both.steps);
  if (along == 0) return false;
  become(state::asking);
  auto create = creation();
  auto& next = both.steps.front();
  next.path = std::move(create.path);
  next.data = std::move(create.data);
  next.mode = create.mode;
  const std::shared_ptr<const kept_node> left = std::move(former);
  const bool lists = left->contended && left->last.empty();  // otherwise the number may tell
  submit_create(std::move(both), along, [left, lists](queue_entry& self) { self.on_requeued(*left, lists); });
  listener_->on_following(*left, prefix_ + number_text(*kind_->number(last_component(left->node)) + 1 + left->used));
  if (lists) list_along();
  return true;
}

/// The transaction has made our node and deleted that of the former place, or has done nothing. If the two numbers
/// follow on one another, but for those that its owner has used for other nodes, no contender has queued between the
/// former grant and now: the former node was there all the time, so the parent is the same, and who was ahead of it had
/// left. So this place is granted without a look, and is one more turn of the former one: of all other tokens the
/// earlier ones are smaller, the later ones larger. If the number follows on that of the last who stood behind the
/// former place when that was let in, none has come since then, and he is the one to wait for.
///
/// @param listed whether the answer to a list comes next
void queue_entry::on_requeued(const kept_node& former, bool listed) {
  switch (created_) {
    case reply_code::ok:
      break;
    case reply_code::unknown_outcome:
    case reply_code::not_sent:
    case reply_code::session_over:
      if (!listed) on_enqueued(nullptr);
      return;
    case reply_code::quota_exceeded:
      return create_again();
    default:
      // One of the two was refused: alone the create will tell why, if it was that. (It is sent again, so behind
      // creates of the same object that have been sent meanwhile.)
      return enqueue();
  }
  if (!take_number()) return exhausted();
  if (follows_on(*kind_, last_component(former.node), former.used)) {
    czxid_ = former.next.czxid;
    first_turn_ = former.next.turn;
    return admitted();
  }
  if (const auto last = former.last.empty() ? std::nullopt : rival_of(*kind_, former.last);
      last && follows_on(*last->kind, former.last, former.used)) {
    outlook_.listed(former.behind, core_->monitor().now(), queue_pace());
    return wait_behind(former.last);
  }
  if (!listed) look();
}

/// @param used numbers that are our own. @returns whether no contender was created between that one, of that kind, and us.
bool queue_entry::follows_on(const rule& kind, std::string_view other, std::uint32_t used) const {
  const auto before = kind.number(other);
  return before && *before + 1 + used == kind_->number(last_component(node_));
}

}  // namespace latchkey::detail
