// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Datagrams between clients: what `peers` needs of the network.

#include <functional>
#include <string>
#include <string_view>

namespace latchkey::detail {

/// Sends and receives datagrams, which may be lost, late, or come twice. With the monitor held.
class datagram_port {
 public:
  /// @param from where an answer goes
  using receiver = std::function<void(const std::string& from, std::string_view bytes)>;

  virtual ~datagram_port() = default;

  /// @param server of the ensemble, as in `session_info`: it determines which address of this host others reach
  /// @returns where others reach this port, as text; empty if that is not known
  virtual std::string address(const std::string& server) const = 0;

  /// Does not block. What cannot be sent now is lost.
  virtual void send(const std::string& to, std::string_view bytes) noexcept = 0;

  /// Replaces what is called for each datagram.
  virtual void listen(receiver on_received) = 0;
};

}  // namespace latchkey::detail
