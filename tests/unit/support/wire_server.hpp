// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A server that says on the wire what the test wants, to the C client itself.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace latchkey::testing {

/// Big-endian numbers and strings, as ZooKeeper writes them.
class wire_writer {
 public:
  template <class Number>
  wire_writer& add(Number number) {
    for (int shift = static_cast<int>(sizeof number) * 8 - 8; shift >= 0; shift -= 8) {
      bytes_ += static_cast<char>(static_cast<std::uint64_t>(number) >> shift);
    }
    return *this;
  }
  wire_writer& add_text(const std::string& text) {
    add(static_cast<std::int32_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  wire_writer& add_raw(const std::string& bytes) {
    bytes_ += bytes;
    return *this;
  }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

/// Gives sessions, answers pings and syncs, and lists as it is told to. Every node is there, and empty; nothing can be
/// written.
class wire_server {
 public:
  static constexpr std::size_t size_of_stat = 68;

  struct behaviour {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;                   ///< 0: one that is free
    std::chrono::milliseconds timeout{4000};  ///< of every session
    /// What follows the header of an answer to getChildren2: a list, and the stat of the parent.
    std::string list = wire_writer{}.add(0).add_raw(std::string(size_of_stat, '\0')).bytes();
    bool closes_on_requests = false;  ///< instead of an answer, but to a ping
    bool closes_on_watches = false;   ///< when they are set again, after a reconnect
    std::string says_only{};          ///< to a client that connects: it is a server of something else
    std::function<void(const std::string& address)> said{};  ///< called just before
    std::int64_t newest = 1;  ///< zxid: that of all answers; it closes on who has seen more
  };

  explicit wire_server(behaviour how)
      : how_{std::move(how)}, listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(how_.port);
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::inet_pton(AF_INET, how_.host.c_str(), &address.sin_addr) != 1 || ::bind(listener_, generic, size) != 0 ||
        ::listen(listener_, 16) != 0 || ::getsockname(listener_, generic, &size) != 0) {
      throw std::runtime_error{"no port to listen on"};
    }
    port_ = ntohs(address.sin_port);
    address_ = how_.host + ":" + std::to_string(port_);
    acceptor_ = std::thread{[this] { accept_all(); }};
  }
  ~wire_server() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    disconnect();
    for (auto& each : connections_) {
      each.thread.join();
      ::close(each.socket);
    }
  }
  wire_server(const wire_server&) = delete;
  wire_server& operator=(const wire_server&) = delete;

  const std::string& address() const noexcept { return address_; }
  std::uint16_t port() const noexcept { return port_; }
  int sessions() const noexcept { return sessions_; }
  /// Waits until it has given so many sessions. @returns whether it has.
  bool has_given(int sessions) {
    std::unique_lock lock{mutex_};
    return given_.wait_for(lock, std::chrono::seconds{30}, [&] { return sessions_ >= sessions; });
  }

  /// Ends every connection.
  void disconnect() {
    const std::lock_guard lock{mutex_};
    for (const auto& each : connections_) ::shutdown(each.socket, SHUT_RDWR);
  }

 private:
  struct connection {
    int socket;
    std::thread thread;
  };

  void accept_all() {
    for (;;) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      const std::lock_guard lock{mutex_};
      connections_.push_back({socket, std::thread{[this, socket] {
                                serve(socket);
                                ::shutdown(socket, SHUT_RDWR);
                              }}});
    }
  }

  static bool read(int socket, std::string& into, std::size_t size) {
    into.resize(size);
    return size == 0 || ::recv(socket, into.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  template <class Number>
  static Number number_at(const std::string& bytes, std::size_t at) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i)
      number = number << 8 | static_cast<unsigned char>(bytes.at(at + i));
    return static_cast<Number>(number);
  }
  static bool read_frame(int socket, std::string& into) {
    if (!read(socket, into, 4)) return false;
    const auto size = number_at<std::uint32_t>(into, 0);
    return size <= largest_frame && read(socket, into, size);
  }
  static bool write_frame(int socket, const wire_writer& what) {
    const auto frame = wire_writer{}.add_text(what.bytes()).bytes();
    return ::send(socket, frame.data(), frame.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size());
  }

  void serve(int socket) {
    std::string frame;
    if (!read_frame(socket, frame) || number_at<std::int64_t>(frame, 4) > how_.newest) return;
    if (!how_.says_only.empty()) {
      if (how_.said) how_.said(address_);
      ::send(socket, how_.says_only.data(), how_.says_only.size(), MSG_NOSIGNAL);
      while (!how_.closes_on_requests && read(socket, frame, 1)) {
      }
      return;
    }
    auto session = number_at<std::int64_t>(frame, 16);
    if (session == 0) {
      const std::lock_guard lock{mutex_};
      session = (std::int64_t{port_} << 16) + ++sessions_;  // of this server alone
      given_.notify_all();
    }
    wire_writer welcome;
    welcome.add(std::int32_t{0}).add(static_cast<std::int32_t>(how_.timeout.count())).add(session);
    welcome.add_text(std::string(16, 'p')).add(std::int8_t{0});
    if (!write_frame(socket, welcome)) return;
    while (read_frame(socket, frame) &&
           answer(socket, number_at<std::int32_t>(frame, 0), number_at<std::int32_t>(frame, 4))) {
    }
  }

  bool answer(int socket, std::int32_t xid, std::int32_t type) {
    constexpr std::int32_t get_data = 4, sync = 9, ping = 11, get_children2 = 12, set_watches = 101, no_node = -101;
    if (how_.closes_on_requests && type != ping) return false;
    if (how_.closes_on_watches && type == set_watches) return false;
    wire_writer with;
    with.add(xid).add(how_.newest);
    switch (type) {
      case get_data:
        return write_frame(socket, with.add(0).add_text("").add_raw(std::string(size_of_stat, '\0')));
      case get_children2:
        return write_frame(socket, with.add(0).add_raw(how_.list));
      case sync:
        return write_frame(socket, with.add(0).add_text("/"));
      case ping:
        return write_frame(socket, with.add(0));
      default:
        return write_frame(socket, with.add(type > 0 ? no_node : 0));  // below zero: the end of the session
    }
  }

  static constexpr std::uint32_t largest_frame = 1 << 20;  // "isro" would be one of 1.8 GB

  const behaviour how_;
  int listener_;
  std::uint16_t port_ = 0;
  std::string address_;
  std::atomic<int> sessions_{0};
  std::mutex mutex_;
  std::condition_variable given_;
  std::list<connection> connections_;
  std::thread acceptor_;
};

}  // namespace latchkey::testing
