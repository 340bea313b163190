// SPDX-License-Identifier: Apache-2.0
#pragma once
// One connection of a client through a proxy.

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "delayed_pipe.hpp"
#include "frame_splitter.hpp"
#include "proxy_core.hpp"

namespace latchkey::testing::detail {

/// Reads frames on one side, decides, and delivers on the other. Everything on the loop's thread.
class proxy_connection : public std::enable_shared_from_this<proxy_connection> {
 public:
  proxy_connection(boost::asio::io_context& io, proxy_core& core, boost::asio::ip::tcp::socket client,
                   std::size_t server, boost::asio::ip::tcp::endpoint target);

  /// Nothing is delivered in a direction that is blocked. A connection does nothing before one of them is open.
  void block(bool to_server, bool to_client);
  void release_held() { to_client_.release_held(shared_from_this()); }
  /// Requests that have passed are answered as if they had been given no fate.
  void forget_fates();
  void close();
  [[nodiscard]] bool closed() const noexcept { return closed_; }

 private:
  struct side {
    boost::asio::ip::tcp::socket socket;
    frame_splitter frames{};
    std::array<char, 16'384> buffer{};
    bool greeted = false;  // the connect request, or its response, has passed
    bool ended = false;    // no more will come
    bool blocked = true;   // what it sends is not delivered
    bool parked = false;   // what has been read, and all that follows, waits for the end of the black hole
  };
  struct request {
    std::int32_t xid;
    fate what;
  };

  void block(side& from, bool blocked);
  void connect();
  void read(side& from);
  void go_on(side& from);
  void process(side& from);
  void on_client_frame(std::string frame);
  void on_server_frame(std::string frame);
  void on_connect_response(const std::string& frame);
  fate fate_of_reply(const std::string& frame);

  proxy_core& core_;
  side client_;
  side server_;
  std::size_t server_index_;
  boost::asio::ip::tcp::endpoint target_;
  delayed_pipe to_server_;
  delayed_pipe to_client_;
  std::deque<request> open_requests_;
  bool connecting_ = false;
  bool closed_ = false;
};

}  // namespace latchkey::testing::detail
