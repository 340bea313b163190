// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Lock paths whose own ACL makes that of their entries useless.

#include <cstddef>
#include <set>
#include <string>

#include "session/session.hpp"

namespace latchkey::detail {

/// Warns of lock paths in which anyone may create and delete entries. ZooKeeper asks the parent for both permissions,
/// so `client_options::acl` protects nothing there (HAZARDS S20).
class open_parents {
 public:
  /// What one client remembers of the paths it has looked at: beyond that it does not look.
  static constexpr std::size_t most_paths = 1024;

  /// @param acl whether the nodes of this client have an ACL; without one nothing is done.
  open_parents(session& own, bool acl) : session_{own}, acl_{acl} {}

  /// Reads the ACL of a lock's path, until that has been answered once.
  void look(const std::string& path);

 private:
  session& session_;
  const bool acl_;
  std::set<std::string> seen_;
};

}  // namespace latchkey::detail
