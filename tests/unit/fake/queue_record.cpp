// SPDX-License-Identifier: Apache-2.0
#include "fake/queue_record.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::testing {
queue_record::queue_record(fake_ensemble& ensemble, const std::vector<std::string>& paths, queue_watcher& told)
    : ensemble_{ensemble}, told_{told}, queues_(paths.size()) {
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
        if (what.continues) {
          add_instead(what, log[++seen_].path);  // the two are committed together
        } else {
          add(what);
        }
        break;
      }
      case commit_kind::removed:
        remove(what.path);
        break;
      case commit_kind::session_over:
        for (const auto path : what.gone) remove(path);
        break;
      default:
        break;
    }
  }
}

const queued_node* queue_record::at(unsigned lock, std::int64_t czxid) const {
  const auto& queue = queues_[lock];
  const auto newest = std::max_element(queue.begin(), queue.end(), [=](const auto& a, const auto& b) {
    return (a.begin <= czxid ? a.begin : 0) < (b.begin <= czxid ? b.begin : 0);
  });
  const bool fits = newest != queue.end() && (newest->requeued ? newest->begin <= czxid : newest->position == czxid);
  return fits ? &*newest : nullptr;
}

bool queue_record::belongs(const std::string& path, std::int64_t czxid) const {
  const auto node = ensemble_.paths().find(path);
  const auto at = node ? known_.find(*node) : known_.end();
  if (at == known_.end()) return false;
  const auto& mine = at->second;
  if (!mine.requeued || czxid <= mine.position) return mine.begin <= czxid && czxid <= mine.position;
  return std::none_of(known_.begin(), known_.end(), [&](const auto& other) {
    return other.second.position > mine.position && other.second.position <= czxid &&
           lock_of(other.first) == lock_of(*node);
  });
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

/// @param former the place on which it follows directly
void queue_record::add(const commit& what, const queued_node* writer, bool requeued, const queued_node* former) {
  const auto place = detail::parse_contender(ensemble_.paths().name(what.path));
  if (!place) return;
  queued_node made{what.path, place->kind, what.zxid, what.zxid, requeued, what.time, what.owner};
  if (writer) {
    made.position = writer->position;
    made.begin = writer->begin;
    made.requeued = writer->requeued;
    made.since = writer->since;
  }
  if (former) made.begin = former->begin;
  known_[what.path] = made;
  queues_[*lock_of(what.path)].push_back(made);
}

/// A reader takes the place of its writer, whose number it has. Whoever goes to the end keeps his token if nobody has
/// come meanwhile.
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
    add(what, nullptr, true, now->number == then->number + 1 ? &before : nullptr);
    remove(old);
  }
}

void queue_record::remove(path_id node) {
  auto* const queue = queue_of(node);
  if (!queue) return;
  const auto at = std::find_if(queue->begin(), queue->end(), [=](const auto& each) { return each.node == node; });
  if (at == queue->end()) return;
  queue->erase(at);
  told_.on_node_gone(node);
}

}  // namespace latchkey::testing
