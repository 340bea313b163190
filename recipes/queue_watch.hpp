// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Follows the queue of a lock.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <latchkey/queue_view.hpp>

#include "base/repetition.hpp"
#include "recipes/audience.hpp"
#include "session/conversation.hpp"

namespace latchkey::detail {

/// Lists the children of a path with a watch, again after each change. (A watch cannot be set on a missing node without
/// staying there for ever, HAZARDS 10, so a missing path is created.)
class queue_watch final : public session_observer, public conversation<queue_watch> {
 public:
  /// @param path below the chroot
  queue_watch(std::shared_ptr<client_core> core, std::string path, std::function<void(const queue_sighting&)> changed);

  // Without the monitor:
  void open();
  /// Waits for a call of the listener on another thread.
  void shut() noexcept;
  queue_sighting now();

 private:
  void on_connected() override { look(); }
  void on_disconnected() override { forget(); }
  void on_session_over() override { forget(); }
  void on_failure(const failure&) override { forget(); }

  void look();
  void look_later();
  void on_listed(const reply& listed);
  void on_missing();
  void make_path();
  void not_answered(reply_code code);
  void forget();
  void see(queue_sighting what);

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const std::string absolute_;
  std::uint64_t observing_ = 0;
  queue_sighting seen_;
  bool denied_ = false;   // and logged
  bool refused_ = false;  // the creation of the path
  repetition creates_;
  const std::shared_ptr<audience<queue_sighting>> audience_;
};

}  // namespace latchkey::detail
