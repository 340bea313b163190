// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What an ensemble has committed, and the tree of znodes that follows from a part of it.

#include <cstdint>
#include <string>
#include <vector>

#include "bridge/znodes.hpp"
#include "simulation/path_table.hpp"
#include "simulation/random_source.hpp"

namespace latchkey::testing {

enum class commit_kind : std::uint8_t {
  session_opened,
  session_over,  ///< expired or closed, with its ephemeral nodes
  created,
  removed,
  changed,
  checked,
  failed,  ///< a write that was refused; it has its place in the order, as in ZooKeeper
};

/// One entry of the log that all servers apply in the same order. Entries of one transaction have the same zxid, stand
/// one behind another, and are applied together.
struct commit {
  std::int64_t zxid = 0;
  time_point time;
  commit_kind kind{};
  path_id path = 0;
  std::int64_t session = 0;  ///< that asked for it; 0: an operator, or the ensemble itself
  bool container = false;
  std::int64_t owner = 0;  ///< of an ephemeral node
  std::string data;
  std::vector<path_id> gone;  ///< the nodes of a session that is over
  bool continues = false;     ///< the next entry is of the same transaction
};

struct fake_node {
  bool exists = false;
  bool container = false;
  time_point created;
  std::int64_t czxid = 0;
  std::int64_t mzxid = 0;
  std::int64_t pzxid = 0;  ///< of the last change of its children
  std::int64_t owner = 0;
  std::int32_t counter = 0;  ///< the next sequence number
  std::int32_t version = 0;  ///< of the data
  std::size_t data = 0;      ///< the place in the log of the commit that carries it
  std::vector<path_id> children;
};

/// @param epoch what the clock of the simulation counts from, since 1970.
detail::node_stat to_stat(const fake_node& node, duration epoch);

/// The state of one server after a prefix of the log.
class fake_tree {
 public:
  fake_tree() { at(0).exists = true; }

  /// @param position of `what` in the log.
  void apply(const commit& what, std::size_t position, const path_table& paths);

  /// @returns nothing when there is no such node.
  const fake_node* find(path_id path) const noexcept {
    return path < nodes_.size() && nodes_[path].exists ? &nodes_[path] : nullptr;
  }

  void set_counter(path_id path, std::int32_t counter) { at(path).counter = counter; }

 private:
  fake_node& at(path_id path) {
    if (path >= nodes_.size()) nodes_.resize(path + std::size_t{1});
    return nodes_[path];
  }
  void create(const commit& what, std::size_t position, path_id parent);
  void remove(path_id path, std::int64_t zxid, const path_table& paths);

  std::vector<fake_node> nodes_;
};

}  // namespace latchkey::testing
