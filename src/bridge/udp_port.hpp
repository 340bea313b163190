// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Datagrams over UDP.

#include <cstddef>
#include <string>
#include <string_view>

#include "bridge/datagram_port.hpp"

namespace latchkey::detail {

class udp_port final : public datagram_port {
 public:
  /// How many datagrams `receive` takes at most: timers and proofs share its thread.
  static constexpr std::size_t most_at_once = 32;

  /// @param listen numeric address and port. @param advertise empty: the address that reaches the ensemble
  /// @throws error bad_option for what is no numeric address and port, or is not of this host or not free
  udp_port(const std::string& listen, std::string advertise);
  ~udp_port() override;
  udp_port(const udp_port&) = delete;
  udp_port& operator=(const udp_port&) = delete;

  std::string address(const std::string& server) const override;
  void send(const std::string& to, std::string_view bytes) noexcept override;
  void listen(receiver on_received) override { on_received_ = std::move(on_received); }

  /// Readable when there is something to receive.
  int descriptor() const noexcept { return fd_; }
  /// Hands on what has come, at most `most_at_once`.
  void receive();

 private:
  int fd_ = -1;
  int family_ = 0;
  std::string advertised_;
  receiver on_received_;
};

}  // namespace latchkey::detail
