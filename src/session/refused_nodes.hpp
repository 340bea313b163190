// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Nodes that stay.

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/log_budget.hpp"
#include "bridge/monitor.hpp"
#include "session/session.hpp"

namespace latchkey::detail {

/// Nodes of this session that the ensemble does not let us delete: they stay until the session ends, and block the queue.
class refused_nodes {
 public:
  refused_nodes(monitor& own, session& through) : monitor_{own}, session_{through} {}

  /// @param code why it was not deleted; remembered if the permission may come. @returns whether it is remembered
  bool add(const std::string& path, reply_code code);
  /// @returns those of `children` of `parent` that are such nodes.
  std::vector<std::string> among(const std::string& parent, const std::vector<std::string>& children) const;
  /// @returns whether a child of `parent` is one.
  bool any_below(const std::string& parent) const;
  std::size_t count() const noexcept { return paths_.size(); }
  /// Asks once more for its deletion, which may be allowed by now.
  void try_again(const std::string& path);
  void on_session_over() { paths_.clear(); }

 private:
  monitor& monitor_;
  session& session_;
  std::set<std::string> paths_;
  log_budget lines_;
};

}  // namespace latchkey::detail
