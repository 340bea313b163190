// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who is in the queues of an ensemble, and since when: read from what it has committed.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/node_name.hpp"
#include "fake/fake_ensemble.hpp"

namespace latchkey::testing {

struct queued_node {
  path_id node = 0;
  detail::contender_kind kind{};
  std::int64_t position = 0;  ///< what orders the queue: the zxid of its creation; a reader takes that of its writer
  time_point since;
  std::int64_t session = 0;
};

/// Hears what becomes of nodes.
class queue_watcher {
 public:
  virtual void on_node_gone(path_id node) = 0;
  virtual void on_node_replaced(path_id writer, path_id reader) = 0;

 protected:
  ~queue_watcher() = default;
};

class queue_record {
 public:
  queue_record(fake_ensemble& ensemble, const std::vector<std::string>& paths, queue_watcher& told);

  /// Reads what has been committed since.
  void catch_up();

  const std::vector<queued_node>& of(unsigned lock) const { return queues_[lock]; }

  /// @returns nothing when it is not there.
  const queued_node* at(unsigned lock, std::int64_t position) const;

  /// @returns where a node was in its queue, whether or not it is still there; 0 for what never was in one.
  std::int64_t position_of(const std::string& path) const;

 private:
  std::vector<queued_node>* queue_of(path_id node);
  void add(const commit& what, const queued_node* writer);
  void remove(path_id node);

  fake_ensemble& ensemble_;
  queue_watcher& told_;
  std::vector<path_id> paths_;
  std::vector<std::vector<queued_node>> queues_;
  std::unordered_map<path_id, std::int64_t> positions_;
  std::size_t seen_ = 0;
};

}  // namespace latchkey::testing
