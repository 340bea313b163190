// SPDX-License-Identifier: Apache-2.0
#include "fake/queue_record.hpp"

#include <algorithm>

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
        if (!what.continues) {
          add(what, nullptr);
          break;
        }
        const auto replaced = log[++seen_].path;  // the two are committed together
        const auto at =
            std::find_if(queue->begin(), queue->end(), [=](const auto& each) { return each.node == replaced; });
        if (at == queue->end()) break;
        const auto writer = *at;
        queue->erase(at);
        add(what, &writer);
        told_.on_node_replaced(replaced, what.path);
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

const queued_node* queue_record::at(unsigned lock, std::int64_t position) const {
  const auto& queue = queues_[lock];
  const auto found =
      std::find_if(queue.begin(), queue.end(), [=](const auto& each) { return each.position == position; });
  return found == queue.end() ? nullptr : &*found;
}

std::int64_t queue_record::position_of(const std::string& path) const {
  const auto node = ensemble_.paths().find(path);
  const auto at = node ? positions_.find(*node) : positions_.end();
  return at == positions_.end() ? 0 : at->second;
}

std::vector<queued_node>* queue_record::queue_of(path_id node) {
  const auto at = std::find(paths_.begin(), paths_.end(), ensemble_.paths().parent(node));
  return at == paths_.end() ? nullptr : &queues_[static_cast<std::size_t>(at - paths_.begin())];
}

void queue_record::add(const commit& what, const queued_node* writer) {
  const auto place = detail::parse_contender(ensemble_.paths().name(what.path));
  if (!place) return;
  positions_[what.path] = writer ? writer->position : what.zxid;
  queue_of(what.path)->push_back(
      {what.path, place->kind, writer ? writer->position : what.zxid, writer ? writer->since : what.time, what.owner});
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
