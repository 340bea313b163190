// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Nodes of other clients that are about to go.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/monitor.hpp"

namespace latchkey::detail {

/// Each is of an entry that is closed, as its client has said by datagram; that client deletes it.
class departures {
 public:
  explicit departures(monitor& own) : monitor_{own} {}

  /// `overdue` is called after `patience`, unless the node is known by then to have gone.
  /// @param name of the node, a child of `parent`. @returns false if it is expected to go already: nothing changes then
  bool expect(const std::string& parent, const std::string& name, duration patience, std::function<void()> overdue);

  /// Its deletion has been heard of.
  void gone(const std::string& parent, std::string_view name);

  /// @param children of `parent`, in a list that is newer than the sight of each name: one that it does not show has gone
  void listed(const std::string& parent, const std::vector<std::string>& children);

  /// All are overdue now: no timer runs later.
  void wait_no_longer();

 private:
  struct departure {
    timer_id timer;
    std::function<void()> overdue;
  };
  using by_name = std::map<std::string, departure, std::less<>>;

  monitor& monitor_;
  std::map<std::string, by_name> expected_;  // by parent
};

}  // namespace latchkey::detail
