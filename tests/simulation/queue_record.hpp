// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who is in the queues of an ensemble, and since when: read from what it has committed.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "recipes/rules.hpp"
#include "simulation/fake_ensemble.hpp"

namespace latchkey::testing {

struct queued_node {
  path_id node = 0;
  detail::contender_kind kind{};
  std::int64_t position = 0;  ///< what orders the queue: the zxid of its creation; a reader takes that of its writer
  std::int64_t begin = 0;     ///< its tokens have anything from `begin` to `end`: see `add_instead`
  std::int64_t end = 0;       ///< beyond `position`: the token may be that of a list, from then on
  time_point since;
  std::int64_t session = 0;

  bool takes(std::int64_t czxid) const noexcept { return begin <= czxid && czxid <= end; }
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

  /// @returns the node to which a token belongs: the newest of its place, or nothing when that is not there.
  const queued_node* at(unsigned lock, std::int64_t czxid) const;

  /// @returns the node at `path`, there still or not; nothing when there never was a contender.
  const queued_node* known(const std::string& path) const;
  unsigned lock_of(const queued_node& of) const { return static_cast<unsigned>(*lock_of(of.node)); }

  /// @returns whether the node at `path`, there still or not, is one to which a token belongs.
  bool belongs(const std::string& path, std::int64_t czxid) const;

 private:
  bool in_transaction(std::size_t entry) const;
  std::size_t last_of_transaction(std::size_t entry) const;
  std::optional<std::size_t> lock_of(path_id node) const;
  std::vector<queued_node>* queue_of(path_id node);
  queued_node* add(const commit& what, const queued_node* writer = nullptr);
  void add_instead(const commit& what, path_id old);
  void remove(path_id node, std::int64_t zxid);

  fake_ensemble& ensemble_;
  queue_watcher& told_;
  std::vector<path_id> paths_;
  std::vector<std::vector<queued_node>> queues_;
  std::vector<path_id> newest_;                     // of each queue the contender that came last
  std::unordered_map<path_id, queued_node> known_;  // all there have ever been
  std::size_t seen_ = 0;
};

}  // namespace latchkey::testing
