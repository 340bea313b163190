// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The seam for tests of services: what a client has in place of servers, the clock of the machine, and a timer thread.

#include <chrono>
#include <memory>

#include "base/deadline.hpp"
#include "bridge/znodes.hpp"

namespace latchkey::detail {

class client_core;

/// Opens sessions in memory, and runs the timers of the client that owns it.
class simulated_connector : public connector {
 public:
  /// Runs the timers of `owner` until this connector is destroyed. Once, before the first `open`; without the monitor.
  virtual void drive(client_core& owner) = 0;
};

/// An ensemble in memory, which shares its clock with its clients.
class simulated_servers {
 public:
  virtual ~simulated_servers() = default;

  /// From any thread.
  virtual time_point now() const = 0;

  virtual std::unique_ptr<simulated_connector> connect(std::chrono::milliseconds session_timeout) = 0;
};

}  // namespace latchkey::detail
