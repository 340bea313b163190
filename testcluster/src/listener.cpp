// SPDX-License-Identifier: Apache-2.0
#include "listener.hpp"

#include <boost/asio/error.hpp>
#include <string>

#include "close_on_exec.hpp"
#include "latchkey/testing/error.hpp"

namespace latchkey::testing::detail {

using boost::asio::ip::tcp;
using boost::system::error_code;

void listener::open() try {
  if (acceptor_.is_open()) return;
  const tcp::endpoint here{boost::asio::ip::address_v4::loopback(), port()};
  acceptor_.open(here.protocol());
  close_on_exec(acceptor_);
  acceptor_.set_option(tcp::acceptor::reuse_address{true});
  acceptor_.bind(here);
  acceptor_.listen();
  accept_next();
} catch (const boost::system::system_error& failure) {
  shut();
  throw cluster_error("cannot listen on port " + std::to_string(port()) + ": " + failure.what());
}

void listener::shut() noexcept {
  error_code ignored;
  acceptor_.close(ignored);
}

void listener::accept_next() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted) return;
    if (!error) {
      close_on_exec(socket);
      error_code ignored;
      socket.set_option(tcp::no_delay{true}, ignored);
      handler_(std::move(socket));
    }
    if (acceptor_.is_open()) accept_next();
  });
}

}  // namespace latchkey::testing::detail
