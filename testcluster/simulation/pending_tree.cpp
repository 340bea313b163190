// SPDX-License-Identifier: Apache-2.0
#include "simulation/pending_tree.hpp"

#include <limits>

#include <fmt/format.h>

namespace latchkey::testing {

using detail::reply_code;
using detail::step;

std::string_view parent_of(std::string_view path) noexcept {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == path.npos ? std::string_view{"/"} : path.substr(0, slash);
}

std::string sequence(std::int32_t counter) { return fmt::format("{:010}", counter); }

pending_tree::node& pending_tree::at(std::string_view path) {
  if (const auto known = seen_.find(path); known != seen_.end()) return known->second;
  const auto number = paths_.find(path);
  const auto* present = number ? tree_.find(*number) : nullptr;
  const auto now = present ? node{.exists = true,
                                  .ephemeral = present->owner != 0,
                                  .version = present->version,
                                  .counter = present->counter,
                                  .children = present->children.size()}
                           : node{};
  return seen_.emplace(path, now).first->second;
}

reply_code pending_tree::take(const step& what) {
  if (what.what == step::operation::create) return create(what);
  if (what.what == step::operation::remove && what.path == "/") return reply_code::bad_arguments;
  auto& found = at(what.path);
  if (!found.exists) return path_table::valid(what.path) ? reply_code::no_node : reply_code::bad_arguments;
  if (what.version != -1 && what.version != found.version) return reply_code::bad_version;
  if (what.what == step::operation::remove) return remove(what);
  if (what.what == step::operation::set) ++found.version;
  return reply_code::ok;
}

reply_code pending_tree::create(const step& what) {
  const bool sequential = what.mode == detail::create_mode::ephemeral_sequential;
  auto& parent = at(parent_of(what.path));
  const auto path = sequential ? what.path + sequence(parent.counter) : what.path;
  if (!path_table::valid(path)) return reply_code::bad_arguments;
  if (!parent.exists) return reply_code::no_node;
  auto& found = at(path);
  if (found.exists) return reply_code::node_exists;
  if (parent.ephemeral) return reply_code::no_children_for_ephemerals;
  if (parent.counter != std::numeric_limits<std::int32_t>::max()) ++parent.counter;
  ++parent.children;
  found = {.exists = true, .ephemeral = sequential || what.mode == detail::create_mode::ephemeral};
  return reply_code::ok;
}

reply_code pending_tree::remove(const step& what) {
  auto& found = at(what.path);
  if (found.children != 0) return reply_code::not_empty;
  found = {};
  --at(parent_of(what.path)).children;
  return reply_code::ok;
}

}  // namespace latchkey::testing
