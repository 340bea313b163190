// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Follows the queue of a lock.

#include <functional>
#include <memory>
#include <string>

#include <latchkey/queue_view.hpp>

#include "recipes/path_watch.hpp"

namespace latchkey::detail {

/// Lists the children of a path with a watch, again after each change.
class queue_watch final : public path_watch<queue_watch, queue_sighting> {
 public:
  /// @param path below the chroot
  queue_watch(std::shared_ptr<client_core> core, std::string path, std::function<void(const queue_sighting&)> changed);

  void look();

 private:
  void on_listed(const reply& listed);
};

}  // namespace latchkey::detail
