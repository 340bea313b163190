// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>

#include "close_on_exec.hpp"
#include "jute.hpp"
#include "latchkey/testing/error.hpp"

namespace latchkey::testing::detail {

namespace asio = boost::asio;

namespace {
constexpr std::int32_t largest_frame = 64 * 1024 * 1024;
}

/// Runs one asynchronous operation to its end or to the deadline.
template <class Start>
std::size_t connection::finish(std::string_view doing, steady::time_point deadline, bool end_is_fine, Start start) {
  boost::system::error_code result;
  std::size_t moved = 0;
  bool done = false;
  start([&](const boost::system::error_code& error, std::size_t count) {
    result = error;
    moved = count;
    done = true;
  });
  io_.restart();
  io_.run_until(deadline);
  if (!done) {
    close();
    io_.restart();
    io_.run();
    throw connection_failure(server_.to_string() + ": no answer in time while " + std::string{doing});
  }
  if (result && !(end_is_fine && result == asio::error::eof)) {
    close();
    throw connection_failure(server_.to_string() + ": " + result.message() + " while " + std::string{doing});
  }
  return moved;
}

connection::connection(const endpoint& server, steady::time_point deadline) : server_(server) {
  boost::system::error_code error;
  const auto found = asio::ip::tcp::resolver{io_}.resolve(server.host, std::to_string(server.port), error);
  if (error) throw connection_failure(server_.to_string() + ": " + error.message());
  finish("connecting", deadline, false, [&](auto done) {
    asio::async_connect(socket_, found, [done](const auto& result, const auto&) { done(result, 0); });
  });
  close_on_exec(socket_);
  socket_.set_option(asio::ip::tcp::no_delay{true}, error);
}

void connection::write(std::string_view bytes, steady::time_point deadline) {
  finish("sending", deadline, false, [&](auto done) { asio::async_write(socket_, asio::buffer(bytes), done); });
}

std::string connection::read(std::size_t count, steady::time_point deadline) {
  std::string bytes(count, '\0');
  finish("waiting for a reply", deadline, false,
         [&](auto done) { asio::async_read(socket_, asio::buffer(bytes), done); });
  return bytes;
}

bool connection::readable(steady::time_point deadline) {
  bool done = false;
  socket_.async_wait(asio::ip::tcp::socket::wait_read, [&](const boost::system::error_code& error) { done = !error; });
  io_.restart();
  io_.run_until(deadline);
  if (!done) {
    boost::system::error_code ignored;
    socket_.cancel(ignored);
    io_.restart();
    io_.run();
  }
  return done;
}

std::string connection::read_frame(steady::time_point deadline) {
  const auto length = load_big_endian<std::int32_t>(read(sizeof(std::int32_t), deadline));
  if (length < 0 || length > largest_frame)
    throw connection_failure(server_.to_string() + ": not ZooKeeper's protocol");
  return read(static_cast<std::size_t>(length), deadline);
}

std::string connection::read_to_end(steady::time_point deadline) {
  std::string bytes;
  finish("waiting for an answer", deadline, true,
         [&](auto done) { asio::async_read(socket_, asio::dynamic_buffer(bytes), done); });
  return bytes;
}

void connection::close() noexcept {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace latchkey::testing::detail
