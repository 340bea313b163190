// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The tree as the next step of a transaction finds it: with what the steps before it have changed.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "simulation/fake_tree.hpp"

namespace latchkey::testing {

class pending_tree {
 public:
  pending_tree(const fake_tree& tree, const path_table& paths) : tree_{tree}, paths_{paths} {}

  /// Takes one step, as `PrepRequestProcessor` does. @returns whether it can be taken; if not, nothing has changed.
  detail::reply_code take(const detail::step& what);

 private:
  struct node {
    bool exists = false;
    bool ephemeral = false;
    std::int32_t version = 0;
    std::int32_t counter = 0;
    std::size_t children = 0;
  };

  node& at(std::string_view path);
  detail::reply_code create(const detail::step& what);
  detail::reply_code remove(const detail::step& what);

  const fake_tree& tree_;
  const path_table& paths_;
  std::map<std::string, node, std::less<>> seen_;
};

/// @returns the path of the parent; "/" of the root.
std::string_view parent_of(std::string_view path) noexcept;

/// @returns what the ensemble appends to the name of a sequential node.
std::string sequence(std::int32_t counter);

}  // namespace latchkey::testing
