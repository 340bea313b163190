// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A queue as it changes: of a lock, or of a semaphore.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/queue_view.hpp>

namespace command {

/// Follows the contenders that a snapshot of the path shows, under the same names. Those of a semaphore are in two
/// folders, each with a view of its own, and which of its leases are permits is not known.
class followed_queue {
 public:
  /// @param semaphore whether to follow the folders, which are created if they are missing
  /// @param changed is called on the client's event thread
  followed_queue(latchkey::client& through, const std::string& path, bool semaphore,
                 std::function<void(const latchkey::queue_sighting&)> changed);

 private:
  /// Where contenders are, and what is known of them.
  struct folder {
    std::string prefix;  ///< of their names
    latchkey::queue_sighting seen{};
  };

  void see(folder& where, const latchkey::queue_sighting& what);
  latchkey::queue_sighting all() const;

  const std::function<void(const latchkey::queue_sighting&)> changed_;
  std::mutex guard_;
  std::vector<folder> folders_;
  std::vector<std::unique_ptr<latchkey::queue_view>> views_;  // last: their callbacks use the others
};

/// @returns whether the node, named as in a snapshot, is in a folder of a semaphore.
bool is_of_semaphore(const std::string& node);

}  // namespace command
