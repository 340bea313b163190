// SPDX-License-Identifier: Apache-2.0
#include "simulation/queue_record.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace latchkey::testing {
queue_record::queue_record(fake_ensemble& ensemble, const std::vector<std::string>& paths, queue_watcher& told)
    : ensemble_{ensemble}, told_{told}, queues_(paths.size()), newest_(paths.size()) {
  for (const auto& path : paths) paths_.push_back(ensemble.paths().intern(path));
}

void queue_record::catch_up() {
  const auto& log = ensemble_.log();
  for (; seen_ < log.size(); ++seen_) {
    const auto& what = log[seen_];
    switch (what.kind) {
      case commit_kind::created: {
        auto* const queue = queue_of(what.path);
        if (!queue) break;
        const auto last = last_of_transaction(seen_);
        if (last != seen_ && log[last].kind == commit_kind::removed && queue_of(log[last].path) == queue) {
          add_instead(what, log[last].path);  // the two are committed together
          seen_ = last;                       // what is between them is no contender
        } else if (auto* const made = add(what); made && in_transaction(seen_)) {
          made->end = std::numeric_limits<std::int64_t>::max();  // its answer does not tell the zxid
          known_[what.path] = *made;
        }
        break;
      }
      case commit_kind::removed:
        remove(what.path, what.zxid);
        break;
      case commit_kind::session_over:
        for (const auto path : what.gone) remove(path, what.zxid);
        break;
      default:
        break;
    }
  }
}

/// @returns whether there are other steps in the transaction of this entry of the log.
bool queue_record::in_transaction(std::size_t entry) const {
  const auto& log = ensemble_.log();
  return log[entry].continues || (entry > 0 && log[entry - 1].continues);
}

/// @returns the last entry of the log that is committed together with this one.
std::size_t queue_record::last_of_transaction(std::size_t entry) const {
  while (ensemble_.log()[entry].continues) ++entry;
  return entry;
}

const queued_node* queue_record::at(unsigned lock, std::int64_t czxid) const {
  const queued_node* newest = nullptr;
  for (const auto& each : queues_[lock]) {
    if (each.takes(czxid) && (!newest || newest->position < each.position)) newest = &each;
  }
  return newest;
}

const queued_node* queue_record::known(const std::string& path) const {
  const auto node = ensemble_.paths().find(path);
  const auto at = node ? known_.find(*node) : known_.end();
  return at == known_.end() ? nullptr : &at->second;
}

bool queue_record::belongs(const std::string& path, std::int64_t czxid) const {
  const auto* const node = known(path);
  return node && node->takes(czxid);
}

std::optional<std::size_t> queue_record::lock_of(path_id node) const {
  const auto at = std::find(paths_.begin(), paths_.end(), ensemble_.paths().parent(node));
  if (at == paths_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - paths_.begin());
}

std::vector<queued_node>* queue_record::queue_of(path_id node) {
  const auto lock = lock_of(node);
  return lock ? &queues_[*lock] : nullptr;
}

/// @param writer whose place it takes
/// @returns the node; nothing when it is none of a contender.
queued_node* queue_record::add(const commit& what, const queued_node* writer) {
  const auto place = detail::parse_contender(ensemble_.paths().name(what.path));
  if (!place) return nullptr;
  queued_node made{what.path, place->kind, what.zxid, what.zxid, what.zxid, what.time, what.owner};
  if (writer) {
    made.position = writer->position;
    made.begin = writer->begin;
    made.end = writer->end;
    made.since = writer->since;
  }
  known_[what.path] = made;
  const auto lock = *lock_of(what.path);
  newest_[lock] = what.path;
  return &queues_[lock].emplace_back(made);
}

/// A reader takes the place of its writer, whose number it has. Whoever goes to the end may keep his token if nobody has
/// come meanwhile, and does so if the numbers say that. Otherwise he has one of a list, or that of his node.
void queue_record::add_instead(const commit& what, path_id old) {
  auto* const queue = queue_of(what.path);
  const auto at = std::find_if(queue->begin(), queue->end(), [=](const auto& each) { return each.node == old; });
  const auto now = detail::parse_contender(ensemble_.paths().name(what.path));
  const auto then = detail::parse_contender(ensemble_.paths().name(old));
  if (at == queue->end() || !now || !then) return;
  const auto before = *at;
  if (now->number == then->number) {
    queue->erase(at);
    add(what, &before);
    told_.on_node_replaced(old, what.path);
  } else {
    const bool alone = newest_[*lock_of(old)] == old;
    auto* const made = add(what);
    if (alone) made->begin = before.begin;
    if (now->number != then->number + 1) made->end = std::numeric_limits<std::int64_t>::max();
    known_[what.path] = *made;
    remove(old, what.zxid);
  }
}

void queue_record::remove(path_id node, std::int64_t zxid) {
  auto* const queue = queue_of(node);
  if (!queue) return;
  const auto at = std::find_if(queue->begin(), queue->end(), [=](const auto& each) { return each.node == node; });
  if (at == queue->end()) return;
  queue->erase(at);
  if (auto& gone = known_[node]; gone.end > gone.position) gone.end = std::min(gone.end, zxid - 1);
  told_.on_node_gone(node);
}

}  // namespace latchkey::testing
