// SPDX-License-Identifier: Apache-2.0
#pragma once
// A loopback port that can be shut and opened again.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>

#include "reserved_port.hpp"

namespace latchkey::testing::detail {

/// Accepts connections on a port of its own. All calls but port() on the loop's thread.
class listener {
 public:
  using on_accept = std::function<void(boost::asio::ip::tcp::socket)>;

  /// @param port  0: one that is free
  listener(boost::asio::io_context& io, on_accept handler, std::uint16_t port = 0)
      : port_(port), acceptor_(io), handler_(std::move(handler)) {}

  void open();           ///< does nothing if it is open. @throws cluster_error
  void shut() noexcept;  ///< connections are refused from now on
  [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }

 private:
  void accept_next();

  reserved_port port_;
  boost::asio::ip::tcp::acceptor acceptor_;
  on_accept handler_;
};

}  // namespace latchkey::testing::detail
