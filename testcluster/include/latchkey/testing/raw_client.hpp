// SPDX-License-Identifier: Apache-2.0
#pragma once
// A minimal ZooKeeper client on a plain TCP connection: the operator, or the foreign contender, of a test.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "latchkey/testing/error.hpp"
#include "latchkey/testing/export.hpp"
#include "latchkey/testing/wire.hpp"

namespace latchkey::testing {

/// One session on one connection to one server.
///
/// Every call blocks the calling thread until the reply is there or `request_timeout` is over. No reconnecting, no
/// watches: after a connection_failure the object is of no more use. While it lives a thread of its own pings, so
/// its ephemeral nodes stay. Calls may come from several threads; they take turns.
///
/// @throws connection_failure  no connection or no answer in time: the request may have been executed
/// @throws operation_failed    the server said no; look at code()
class LATCHKEY_TESTING_EXPORT raw_client {
 public:
  struct options {
    std::chrono::milliseconds session_timeout{10'000};
    std::chrono::milliseconds request_timeout{5'000};
  };

  /// Connects and opens a new session.
  explicit raw_client(const endpoint& server);
  raw_client(const endpoint& server, const options& how);

  /// Connects and attaches to an existing session, as its own client does after a reconnect; the server closes the
  /// connection the session had on it.
  /// @throws session_refused  the session has ended or the password is wrong
  raw_client(const endpoint& server, const session_credentials& session, const options& how);

  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  /// Closes the session (at most a second), so its ephemeral nodes go. Never throws.
  ~raw_client();

  /// @returns the path of the new node, with its sequence number if it has one. All clients have all permissions.
  std::string create(std::string_view path, std::string_view data = {}, create_mode mode = create_mode::persistent);
  /// Creates the node and those above it that are missing; does nothing where one exists.
  void create_all(std::string_view path);

  /// @returns false if there is no such node. @throws operation_failed -111 if it has children.
  bool remove(std::string_view path);
  /// Removes the node and everything below it. @returns false if there is no such node.
  bool remove_all(std::string_view path);

  /// Sets the data, whatever the version. @throws operation_failed -101 if there is no such node.
  node_stat set(std::string_view path, std::string_view data);
  /// @returns the data, or nothing if there is no such node.
  std::optional<std::string> get(std::string_view path);
  /// @returns the statistics, or nothing if there is no such node.
  std::optional<node_stat> exists(std::string_view path);
  /// @returns the names of the children, sorted; empty if there is no such node.
  std::vector<std::string> children(std::string_view path);
  /// Waits until this server has caught up with the leader.
  void sync(std::string_view path = "/");
  /// Shows the server that the session lives; the thread of the client does so by itself.
  void ping();

  /// Ends the session; afterwards the object can only be destroyed.
  void close();
  /// Closes the connection without a word: the session and its ephemeral nodes stay until the server expires it.
  void abandon() noexcept;

  [[nodiscard]] session_credentials session() const;
  /// The timeout that the server granted.
  [[nodiscard]] std::chrono::milliseconds session_timeout() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace latchkey::testing
