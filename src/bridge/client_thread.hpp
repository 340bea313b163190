// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The thread that runs the timers of a monitor.

#include <atomic>
#include <memory>
#include <thread>

#include "bridge/monitor.hpp"
#include "bridge/udp_port.hpp"

namespace latchkey::detail {

/// Deadlines, proofs and losses have this thread to themselves: no callback of a user runs on it.
/// Sleeps in a timerfd on CLOCK_BOOTTIME, which fires right after the machine was resumed. Receives the datagrams of a
/// port, if there is one: a few, then the timers that are due, so that a flood delays no proof.
class client_thread {
 public:
  /// @throws std::system_error when there are no more file descriptors or threads.
  /// @param port may be null; it must outlive the thread
  explicit client_thread(std::shared_ptr<monitor> timers, udp_port* port = nullptr);
  ~client_thread();
  client_thread(const client_thread&) = delete;
  client_thread& operator=(const client_thread&) = delete;

  /// Ends and joins the thread. Not from the thread itself.
  void stop();

 private:
  void run();
  void sleep();
  void wake_at(time_point time) noexcept;

  std::shared_ptr<monitor> timers_;
  udp_port* const port_;
  int fd_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace latchkey::detail
