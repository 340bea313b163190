// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The connector of one client on an ensemble that has a thread of its own.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/ensemble_thread.hpp"
#include "simulation/fake_connector.hpp"

namespace latchkey::testing {

/// Messages to the thread that are not read any more once it has been closed.
class mailbox {
 public:
  explicit mailbox(ensemble_thread& thread) : thread_{thread} {}

  void post(ensemble_thread::action message) const {
    thread_.post([open = open_, message = std::move(message)] {
      if (*open) message();
    });
  }
  /// On the thread.
  void close() const noexcept { *open_ = false; }

 private:
  ensemble_thread& thread_;
  std::shared_ptr<bool> open_ = std::make_shared<bool>(true);
};

/// Turns the calls of a client into messages to the thread, which calls the client in return.
class thread_connector final : public detail::simulated_connector {
 public:
  /// @param thread must outlive this: the clock of the client sees to that
  thread_connector(ensemble_thread& thread, std::chrono::milliseconds session_timeout);
  ~thread_connector() override;

  void drive(detail::client_core& owner) override;
  void open(std::uint64_t epoch, detail::connector_listener& listener,
            const std::vector<std::string>& without) override;
  void resume(const detail::former_session& session, detail::connector_listener& listener) override;
  void retire(std::unique_ptr<detail::znodes> session, std::function<void()> on_closed) override;

  /// @returns whether the calling thread is the one that runs the callbacks of a client of a simulated ensemble.
  static bool in_callback() noexcept;

  // On the thread:

  detail::client_core* core() const noexcept { return core_; }
  fake_connector& servers() noexcept { return *servers_; }
  /// `last` is dropped when the callbacks of users that have been posted have run.
  /// @returns whether there are any
  bool run_callbacks(const std::shared_ptr<void>& last);

 private:
  void begin();
  void end();
  void first_timer_at(detail::time_point time);
  std::optional<detail::time_point> first_timer();
  void run_timers();

  detail::connector_listener& relay_to(detail::connector_listener& listener);

  ensemble_thread& thread_;
  const mailbox mail_;
  const std::chrono::milliseconds timeout_;
  detail::client_core* core_ = nullptr;
  class relay;
  std::vector<std::unique_ptr<relay>> relays_;  // one for each listener
  std::optional<fake_connector> servers_;
  process_id process_{};
  std::uint64_t callbacks_ = 0;  // that have been waited for
  std::mutex mutex_;
  std::optional<detail::time_point> first_timer_;
};

}  // namespace latchkey::testing
