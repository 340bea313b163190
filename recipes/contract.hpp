// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A number that all users of a path must agree on.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/repetition.hpp"
#include "queue/wait_list.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// Reads the number from the data of the node at a path, as `{"stripes":64}`. The first user who finds none writes it.
///
/// `ask()` goes along with the requests of a call: its answer comes before theirs. A node that is created here is
/// persistent. One that exists already may be a container (its stat does not tell), which the leader would delete once it
/// has no children: so it gets a persistent child. With the monitor held, except where stated.
class contract final : public session_observer, public std::enable_shared_from_this<contract> {
 public:
  /// @param path of the node, as the user calls it; below the chroot
  /// @param name of the number, as "stripes"
  contract(std::shared_ptr<client_core> core, std::string path, std::string_view name, std::uint64_t number);

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

 private:
  void on_connected() override;
  void on_session_over() override {}
  void on_failure(const failure& why) override { fail(why); }

  void on_read(const reply& read);
  void write(const reply& found);
  void change(const node_stat& node);
  void make_node();
  void send(request what);
  void refuse(failure why);

  std::shared_ptr<waiter> enter(time_point until);
  void conclude(const std::shared_ptr<waiter>& who, waiter::outcome what);
  void fail(const failure& why);
  void settle(waiter::outcome what);

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const std::string absolute_;
  const std::string text_;
  std::function<void(const failure&)> on_refused_;
  std::uint64_t observing_ = 0;
  std::atomic<bool> agreed_{false};
  bool wanted_ = false;
  bool asked_ = false;
  repetition writes_;
  std::optional<failure> refused_;  // the last write
  waiter::line waiting_;
};

}  // namespace latchkey::detail
