// SPDX-License-Identifier: Apache-2.0
#include "session/refused_nodes.hpp"

#include <algorithm>
#include <iterator>

#include "base/log.hpp"
#include "base/path.hpp"

namespace latchkey::detail {

bool refused_nodes::add(const std::string& path, reply_code code) {
  if (const auto left_out = lines_.spend(monitor_.now())) {
    log(log_level::error,
        "the ensemble refused to delete a node of this client, which stays until the session ends; grant the "
        "permission d on its parent",
        {{"node", path}, {"code", name_and_number(code)}, {"left_out", *left_out}});
  }
  if (code != reply_code::no_permission) return false;
  paths_.insert(path);
  return true;
}

std::vector<std::string> refused_nodes::among(const std::string& parent,
                                              const std::vector<std::string>& children) const {
  std::vector<std::string> found;
  if (paths_.empty()) return found;
  std::copy_if(children.begin(), children.end(), std::back_inserter(found),
               [&](const std::string& name) { return paths_.contains(join(parent, name)); });
  return found;
}

bool refused_nodes::any_below(const std::string& parent) const {
  return std::any_of(paths_.begin(), paths_.end(), [&](const std::string& each) { return parent_of(each) == parent; });
}

void refused_nodes::try_again(const std::string& path) {
  if (!session_.connected()) return;
  session_.submit({.kind = operation::remove, .path = path}, [this, path](const reply& removed) {
    if (removed.code == reply_code::ok || removed.code == reply_code::no_node) paths_.erase(path);
  });
}

}  // namespace latchkey::detail
