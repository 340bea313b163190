// SPDX-License-Identifier: Apache-2.0
/// How several entries get into their queues, and leave them: in one transaction.

#include <algorithm>
#include <utility>

#include "queue/queue_entry.hpp"

namespace latchkey::detail {

void queue_entry::start_together(const std::vector<std::shared_ptr<queue_entry>>& all, patience how) {
  for (const auto& each : all) {
    each->patience_ = how;
    each->joint_ = true;
    each->observing_ = each->core_->add_observer(*each);
    each->become(state::disconnected);
  }
  create_together(all, all.size());
}

/// In one round trip: requests of a session are served in order, so each list shows the node of its queue.
/// @param parents_from those from this one on may lack parents, which are created first
void queue_entry::create_together(const std::vector<std::shared_ptr<queue_entry>>& all, std::size_t parents_from) {
  request together{.kind = operation::transact};
  std::vector<joined> sent;
  std::set<std::string> parents;
  for (const auto& each : all) {
    each->become(state::asking);
    if (sent.size() >= parents_from) each->submit_parents(parents);
    auto create = each->creation();
    together.steps.push_back({.what = step::operation::create,
                              .path = std::move(create.path),
                              .data = std::move(create.data),
                              .mode = create.mode});
    sent.push_back({each, each->step_, each->prefix_});
  }
  if (sent.size() == 1) {  // the answer to a create tells the czxid
    auto only = std::move(together.steps.front());
    together = {
        .kind = operation::create, .path = std::move(only.path), .data = std::move(only.data), .mode = only.mode};
  }
  const auto left = [sent] { return std::none_of(sent.begin(), sent.end(), waits); };
  all.front()->through().submit(std::move(together),
                                while_wanted{left, [sent](reply& created) { on_created_together(sent, created); }});
  for (const auto& each : all) each->list_along();
}

/// The lists, which are answered next, say how each goes on. Without an answer each looks for its own node: the
/// transaction has created all of them, or none.
void queue_entry::on_created_together(const std::vector<joined>& all, reply& created) {
  const bool refused = created.code != reply_code::ok && !is_lost(created.code);
  if (refused) return on_refused_together(all, created);
  if (created.paths.empty()) created.paths.push_back(std::move(created.path));
  all.front().who->core_->reaper().together([&] {
    for (std::size_t i = 0; i < all.size(); ++i) {
      reply mine;
      mine.code = created.code;
      mine.stat = created.stat;
      if (created.code == reply_code::ok) mine.path = std::move(created.paths[i]);
      all[i].who->on_created(all[i].step, all[i].prefix, mine);
    }
  });
}

/// The first that the ensemble has refused says why. The others were not created: each is refused when its list is
/// answered.
void queue_entry::on_refused_together(const std::vector<joined>& all, const reply& refused) {
  const auto& results = refused.results;
  const auto failed = std::find_if(results.begin(), results.end(), [](auto code) { return code != reply_code::ok; });
  const auto at = failed == results.end() ? 0 : static_cast<std::size_t>(failed - results.begin());
  if (!waits(all[at])) return;
  auto& first = *all[at].who;
  const bool missing = refused.code == reply_code::no_node;
  if (!missing && refused.code != reply_code::quota_exceeded) {
    first.created_ = refused.code;
    return first.on_enqueued(nullptr);
  }
  if (!std::all_of(all.begin(), all.end(), waits)) return;
  const auto pause = first.pause_before_next(refused.code);
  if (!pause) return;
  std::vector<std::weak_ptr<queue_entry>> paused;  // weak, as in `create_again`; they go together
  for (const auto& each : all) {
    each.who->become(state::asking);  // the list is no answer any more
    paused.push_back(each.who);
  }
  const auto create = [paused, from = missing ? at : paused.size()](queue_entry& self) {
    std::vector<std::shared_ptr<queue_entry>> again;
    for (const auto& each : paused) {
      if (auto entry = each.lock()) again.push_back(std::move(entry));
    }
    if (again.size() != paused.size()) return;
    if (self.through().connected()) return create_together(again, from);
    for (const auto& each : again) {
      if (each->state_ == state::asking) each->resume();
    }
  };
  if (*pause == duration::zero()) return create(first);
  first.core_->monitor().in(*pause, detail::unless_stale{first.weak_from_this(), &queue_entry::step_, create});
}

void queue_entry::leave_together(const std::vector<std::shared_ptr<queue_entry>>& all) {
  if (all.empty()) return;
  all.front()->core_->reaper().together([&] {
    for (const auto& each : all) each->leave();
  });
}

}  // namespace latchkey::detail
