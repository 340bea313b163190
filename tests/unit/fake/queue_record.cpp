// SPDX-License-Identifier: Apache-2.0
#include "fake/queue_record.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::testing {
namespace {

bool may_give(const queued_node& node, std::int64_t czxid) {
  return std::find(node.tokens.begin(), node.tokens.end(), czxid) != node.tokens.end();
}

}  // namespace

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
  const auto found = std::find_if(queue.begin(), queue.end(), [=](const auto& each) { return may_give(each, czxid); });
  return found == queue.end() ? nullptr : &*found;
}

bool queue_record::belongs(const std::string& path, std::int64_t czxid) const {
  const auto node = ensemble_.paths().find(path);
  const auto at = node ? known_.find(*node) : known_.end();
  return at != known_.end() && may_give(at->second, czxid);
}

std::vector<queued_node>* queue_record::queue_of(path_id node) {
  const auto at = std::find(paths_.begin(), paths_.end(), ensemble_.paths().parent(node));
  return at == paths_.end() ? nullptr : &queues_[static_cast<std::size_t>(at - paths_.begin())];
}

/// @param tokens of the former places on which it follows
void queue_record::add(const commit& what, const queued_node* writer, std::vector<std::int64_t> tokens) {
  const auto place = detail::parse_contender(ensemble_.paths().name(what.path));
  if (!place) return;
  const auto position = writer ? writer->position : what.zxid;
  tokens.push_back(position);
  const queued_node made{what.path, place->kind, position, std::move(tokens), writer ? writer->since : what.time,
                         what.owner};
  known_[what.path] = made;
  queue_of(what.path)->push_back(made);
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
    add(what, &before, before.tokens);
    told_.on_node_replaced(old, what.path);
  } else {
    add(what, nullptr, now->number == then->number + 1 ? before.tokens : std::vector<std::int64_t>{});
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
