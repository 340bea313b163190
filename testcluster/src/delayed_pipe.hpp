// SPDX-License-Identifier: Apache-2.0
#pragma once
// One direction of a connection: delivers in order, each piece not before its time.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace latchkey::testing::detail {

/// On the loop's thread. `owner` is kept alive while something is on its way.
class delayed_pipe {
 public:
  /// @param finish  closes the connection
  delayed_pipe(boost::asio::io_context& io, boost::asio::ip::tcp::socket& to, std::function<void()> finish)
      : to_(to), timer_(io), finish_(std::move(finish)) {}

  void push(std::string bytes, std::chrono::milliseconds delay, bool held, const std::shared_ptr<void>& owner);
  /// When all that was pushed has been delivered, the connection is closed.
  void push_end(std::chrono::milliseconds delay, const std::shared_ptr<void>& owner) { push({}, delay, false, owner); }
  void release_held(const std::shared_ptr<void>& owner);
  void block(bool blocked, const std::shared_ptr<void>& owner);
  void cancel() noexcept { timer_.cancel(); }

 private:
  using clock = std::chrono::steady_clock;
  struct piece {
    std::string bytes;
    clock::time_point due;
    bool held;
  };

  void advance(const std::shared_ptr<void>& owner);
  void write(const std::shared_ptr<void>& owner);

  boost::asio::ip::tcp::socket& to_;
  boost::asio::steady_timer timer_;
  std::function<void()> finish_;
  std::deque<piece> pieces_;
  clock::time_point last_due_{};
  bool busy_ = false;
  bool blocked_ = false;
};

}  // namespace latchkey::testing::detail
