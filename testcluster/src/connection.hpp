// SPDX-License-Identifier: Apache-2.0
#pragma once
// A TCP connection whose every call blocks, but not beyond a deadline.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "latchkey/testing/wire.hpp"

namespace latchkey::testing::detail {

using steady = std::chrono::steady_clock;

/// @throws connection_failure  from everything
class connection {
 public:
  connection(const endpoint& server, steady::time_point deadline);

  void write(std::string_view bytes, steady::time_point deadline);
  std::string read(std::size_t count, steady::time_point deadline);
  /// @returns whether there is something to read, or the end, before the deadline.
  bool readable(steady::time_point deadline);
  /// Reads one length-prefixed frame; returns it without the prefix.
  std::string read_frame(steady::time_point deadline);
  std::string read_to_end(steady::time_point deadline);
  void close() noexcept;

 private:
  template <class Start>
  std::size_t finish(std::string_view doing, steady::time_point deadline, bool end_is_fine, Start start);

  endpoint server_;
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::socket socket_{io_};
};

}  // namespace latchkey::testing::detail
