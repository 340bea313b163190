// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Follows the leader of an election.

#include <functional>
#include <memory>
#include <string>

#include <latchkey/leader_view.hpp>

#include "recipes/path_watch.hpp"

namespace latchkey::detail {

/// The first contender of a path, and its data. Lists the path, then reads that node with a watch. While there is none,
/// the list has the watch.
class leader_watch final : public path_watch<leader_watch, leader_sighting> {
 public:
  /// @param path below the chroot
  leader_watch(std::shared_ptr<client_core> core, std::string path,
               std::function<void(const leader_sighting&)> changed);

  void look();

 private:
  void list(bool watching);
  void read(const std::string& name);
  void on_read(const reply& read);
};

}  // namespace latchkey::detail
