// SPDX-License-Identifier: Apache-2.0
#include "simulation/fake_tree.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace latchkey::testing {

detail::node_stat to_stat(const fake_node& node, duration epoch) {
  const auto created = std::chrono::duration_cast<std::chrono::milliseconds>(epoch + node.created.time_since_epoch());
  return {.czxid = node.czxid,
          .pzxid = node.pzxid,
          .ephemeral_owner = node.owner,
          .ctime = created.count(),
          .version = node.version};
}

void fake_tree::apply(const commit& what, std::size_t position, const path_table& paths) {
  switch (what.kind) {
    case commit_kind::created:
      return create(what, position, paths.parent(what.path));
    case commit_kind::removed:
      return remove(what.path, what.zxid, paths);
    case commit_kind::changed: {
      auto& node = at(what.path);
      node.mzxid = what.zxid;
      ++node.version;
      node.data = position;
      return;
    }
    case commit_kind::session_over:
      for (const auto path : what.gone) remove(path, what.zxid, paths);
      return;
    case commit_kind::session_opened:
    case commit_kind::checked:
    case commit_kind::failed:
      return;
  }
}

void fake_tree::create(const commit& what, std::size_t position, path_id parent) {
  auto& node = at(what.path);
  node = {};
  node.exists = true;
  node.container = what.container;
  node.created = what.time;
  node.czxid = node.mzxid = node.pzxid = what.zxid;
  node.owner = what.owner;
  node.data = position;
  auto& above = at(parent);
  above.children.push_back(what.path);
  above.pzxid = what.zxid;
  // DataTree takes a new counter only when it is larger: at the end of the 32 bits it sticks.
  if (above.counter != std::numeric_limits<std::int32_t>::max()) ++above.counter;
}

void fake_tree::remove(path_id path, std::int64_t zxid, const path_table& paths) {
  at(path).exists = false;
  auto& above = at(paths.parent(path));
  above.pzxid = zxid;
  const auto place = std::find(above.children.begin(), above.children.end(), path);
  if (place == above.children.end()) return;
  *place = above.children.back();  // the order of children means nothing in ZooKeeper either
  above.children.pop_back();
}

}  // namespace latchkey::testing
