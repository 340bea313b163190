// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Follows the leader of an election.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <latchkey/leader_view.hpp>

#include "base/repetition.hpp"
#include "recipes/audience.hpp"
#include "session/conversation.hpp"

namespace latchkey::detail {

/// The first contender of a path, and its data. Lists the path, then reads that node with a watch. While there is none,
/// the list has the watch. (A watch cannot be set on a missing node without staying there for ever, HAZARDS 10, so a
/// missing path is created.)
class leader_watch final : public session_observer, public conversation<leader_watch> {
 public:
  /// @param path below the chroot
  leader_watch(std::shared_ptr<client_core> core, std::string path,
               std::function<void(const leader_sighting&)> changed);

  // Without the monitor:
  void open();
  /// Waits for a call of the listener on another thread.
  void shut() noexcept;
  leader_sighting now();

 private:
  void on_connected() override { look(); }
  void on_disconnected() override { forget(); }
  void on_session_over() override { forget(); }
  void on_failure(const failure&) override { forget(); }

  void look();
  void look_later();
  void list(bool watching);
  void read(const std::string& name);
  void on_read(const reply& read);
  void on_missing();
  void make_path();
  void not_answered(reply_code code);
  void forget();
  void see(leader_sighting what);

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const std::string absolute_;
  std::uint64_t observing_ = 0;
  leader_sighting seen_;
  bool denied_ = false;   // and logged
  bool refused_ = false;  // the creation of the path
  repetition creates_;
  const std::shared_ptr<audience<leader_sighting>> audience_;
};

}  // namespace latchkey::detail
