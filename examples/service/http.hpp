// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The HTTP front. It knows nothing of locks. Beast compiles slowly: include this in one file.

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "service.hpp"

namespace bank {

namespace http = boost::beast::http;
namespace net = boost::asio;

/// Serves HTTP/1.1, one request per connection, all on one thread: a request that waits for a lock blocks none.
class http_server {
 public:
  using handler = std::function<net::awaitable<answer>(std::string method, std::string target)>;

  http_server(std::uint16_t port, handler handle) : handle_{std::move(handle)}, acceptor_{network_, {tcp::v4(), port}} {
    net::co_spawn(network_, accept(), net::detached);
    thread_ = std::jthread{[this] { network_.run(); }};
  }
  ~http_server() { stop(); }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  /// Accepts no more connections, and returns when the present ones have been answered.
  void stop() {
    net::post(network_, [this] { acceptor_.close(); });
    if (thread_.joinable()) thread_.join();
  }

 private:
  using tcp = net::ip::tcp;

  net::awaitable<void> accept() {
    while (acceptor_.is_open()) {
      boost::system::error_code failed;
      auto socket = co_await acceptor_.async_accept(net::redirect_error(net::use_awaitable, failed));
      if (!failed) net::co_spawn(network_, serve(boost::beast::tcp_stream{std::move(socket)}), net::detached);
      if (failed) std::this_thread::sleep_for(std::chrono::milliseconds{10});  // no descriptors are left, say
    }
  }

  net::awaitable<void> serve(boost::beast::tcp_stream stream) {
    boost::beast::flat_buffer buffer;
    http::request<http::string_body> request;
    stream.expires_after(std::chrono::seconds{5});
    co_await http::async_read(stream, buffer, request, net::use_awaitable);
    const auto made = co_await handle_(std::string{request.method_string()}, std::string{request.target()});
    http::response<http::string_body> response{static_cast<http::status>(made.status), request.version(), made.body};
    response.set(http::field::content_type, made.type);
    if (made.status == 409 || made.status == 503) response.set(http::field::retry_after, "1");
    response.keep_alive(false);
    response.prepare_payload();
    stream.expires_after(std::chrono::seconds{5});
    co_await http::async_write(stream, response, net::use_awaitable);
  }

  handler handle_;
  net::io_context network_{1};
  tcp::acceptor acceptor_;
  std::jthread thread_;
};

}  // namespace bank
