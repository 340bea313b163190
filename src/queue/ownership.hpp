// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a `grant` refers to.

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <latchkey/grant.hpp>

#include "queue/ownership_state.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// One period of ownership: of one caller, on one node. Read from anywhere; changed with the strand held.
class ownership : public std::enable_shared_from_this<ownership> {
 public:
  /// @param path of the lock, as its user calls it
  /// @param node on which it rests
  ownership(std::shared_ptr<client_core> core, std::string path, std::string node, fencing_token fence);

  /// Another period, of another turn on the same lock. @pre no grant refers to it, nor anybody else
  void begin_again(const std::string& node, fencing_token fence);

  grant as_grant() { return grant{shared_from_this()}; }

  bool held() const noexcept { return !is_over(state_) && beat_->alive(core_->strand().now()); }
  fencing_token fence() const noexcept { return fence_; }
  time_point valid_until() const noexcept { return is_over(state_) ? time_point::min() : beat_->valid_until(); }
  std::optional<loss_reason> loss() const noexcept;

  // Without the strand:
  std::stop_token stop_token();
  std::stop_token release_token();
  bool asked_to_release();
  bool wait_for_end(duration timeout);

  // With the strand:
  void suspect();
  void ask_to_release();
  void lose(loss_reason why);
  void release(time_point now);
  void release() { release(core_->strand().now()); }

 private:
  void watch_node();
  bool apply(ownership_event event) noexcept;
  void end();

  const std::shared_ptr<client_core> core_;
  std::shared_ptr<pulse> beat_;
  const std::string path_;
  std::string node_;
  fencing_token fence_;
  std::atomic<ownership_state> state_{ownership_state::held};
  std::atomic<loss_reason> why_{};
  std::optional<std::stop_source> stop_;
  std::optional<std::stop_source> release_;
  std::atomic<bool> asked_{false};
  std::atomic<bool> watched_{false};  // its node, for being asked
  std::vector<std::shared_ptr<wait_point>> waiters_;
};

}  // namespace latchkey::detail
