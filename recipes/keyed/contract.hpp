// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The calls that wait until a number is agreed.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "queue/wait_list.hpp"
#include "recipes/agreed_number.hpp"

namespace latchkey::detail {

/// `ask()` goes along with the requests of a call: its answer comes before theirs.
class contract final : public session_observer, public std::enable_shared_from_this<contract> {
 public:
  /// @param path of the node, as the user calls it; below the chroot
  contract(std::shared_ptr<client_core> core, std::string path, const agreement& what, std::uint32_t number);

  // Without the monitor:

  /// @param on_refused runs with the monitor held when a question was answered by a failure: another number, say. The
  /// next `ask()` asks again.
  void open(std::function<void(const failure&)> on_refused = {});
  /// Ends every wait.
  void shut() noexcept;
  /// From anywhere. @returns whether the node has been seen to say the same number.
  bool agreed() const noexcept { return agreed_.load(std::memory_order_acquire); }
  /// Waits until it is agreed. @returns false if it is not in time, or stop was requested.
  /// @throws error contract_mismatch, not_authorized, parent_is_ephemeral, refused, closed, lock_destroyed, unreachable
  bool agree(duration timeout, std::stop_token stop);

  /// Asks, unless it is agreed or asked already; with the next connection if there is none.
  void ask();
  /// `agree` without its wait.
  std::shared_ptr<waiter> enter(time_point until);
  void conclude(const std::shared_ptr<waiter>& who, waiter::outcome what);

 private:
  void on_connected() override;
  void on_session_over() override {}
  void on_failure(const failure& why) override { fail(why); }
  void on_known(const std::optional<failure>& failed);

  void fail(const failure& why);
  void settle(waiter::outcome what);

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const std::shared_ptr<agreed_number> number_;
  std::function<void(const failure&)> on_refused_;
  std::uint64_t observing_ = 0;
  std::atomic<bool> agreed_{false};  // set with release, with the monitor; read with acquire without it
  bool wanted_ = false;
  waiter::line waiting_;
};

}  // namespace latchkey::detail
