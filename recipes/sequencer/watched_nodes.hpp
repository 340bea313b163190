// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whether nodes of other clients are still there.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "session/client_core.hpp"

namespace latchkey::detail {

/// @returns the request that asks a quorum for the node.
request question_about(const std::string& node);

/// Nodes that a quorum has shown to exist, each with a watch that tells of its end. One watch a node: what the C client
/// watches it cannot forget (HAZARDS 9), so a place stays here until its watch speaks or its session ends.
///
/// The check goes ahead of the read that sets the watch: the server of this session reads the state of the check or a
/// later one (Z2), so a node that is younger than this server's view is not taken for missing.
class watched_nodes : public std::enable_shared_from_this<watched_nodes> {
 public:
  /// A call that asks about a node.
  struct caller {
    wait_point point;  ///< notified when it is answered
    bool there = false;
    std::optional<failure> failed;
  };

  explicit watched_nodes(std::shared_ptr<client_core> core) : core_{std::move(core)} {}
  /// No question comes any more.
  void end();

  client_core& core() const noexcept { return *core_; }

  /// @returns what is known of the node without a request, if anything. @throws error closed, ...
  std::optional<bool> known(const std::string& node);
  /// @pre nothing is known
  std::shared_ptr<caller> ask(const std::string& node);
  /// It waits no longer.
  void leave(const std::string& node, const std::shared_ptr<caller>& who);

  std::size_t size() const noexcept { return places_.size(); }

 private:
  /// There while it is asked about or watched.
  struct place {
    std::string node;
    bool asked = false;    // for which there is no answer yet
    reply_code checked{};  // the last answer
    watch_id watch{};
    bool watched = false;
    std::vector<std::shared_ptr<caller>> callers{};
  };

  void send(const std::shared_ptr<place>& about);
  void conclude(place& about);
  void keep_or_drop(const place& about);

  const std::shared_ptr<client_core> core_;
  std::uint64_t session_ = 0;
  std::unordered_map<std::string, std::shared_ptr<place>> places_;
};

}  // namespace latchkey::detail
