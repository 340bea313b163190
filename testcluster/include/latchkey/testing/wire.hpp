// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of ZooKeeper's wire protocol that tests speak in: addresses, sessions, operations, node statistics.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "latchkey/testing/export.hpp"

namespace latchkey::testing {

/// A TCP address.
struct endpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;

  /// "host:port", as connect strings have it.
  [[nodiscard]] std::string to_string() const { return host + ":" + std::to_string(port); }
  friend bool operator==(const endpoint&, const endpoint&) = default;
};

/// What a client needs to attach to a session; it is also enough to end the session.
struct session_credentials {
  std::int64_t id = 0;
  std::array<char, 16> password{};

  friend bool operator==(const session_credentials&, const session_credentials&) = default;
};

/// @returns the credentials of the session `id`. ZooKeeper (3.4 to 3.9) derives the password from the id alone.
[[nodiscard]] LATCHKEY_TESTING_EXPORT session_credentials credentials_of(std::int64_t id);

/// Operations of the protocol, by their number there.
enum class opcode : std::int32_t {
  notification = -1,  ///< a watch event; only ever a "reply"
  create = 1,
  remove = 2,
  exists = 3,
  get_data = 4,
  set_data = 5,
  get_acl = 6,
  set_acl = 7,
  get_children = 8,
  sync = 9,
  ping = 11,
  get_children2 = 12,
  check = 13,
  multi = 14,
  create2 = 15,
  reconfig = 16,
  check_watches = 17,
  remove_watches = 18,
  create_container = 19,
  delete_container = 20,
  create_ttl = 21,
  multi_read = 22,
  auth = 100,
  set_watches = 101,
  sasl = 102,
  set_watches2 = 105,
  add_watch = 106,
  create_session = -10,  ///< also the connect request that begins every connection
  close_session = -11,
};

/// @returns ZooKeeper's own name of the operation, such as "create2" or "getChildren2"; "opcode 77" if it is unknown.
[[nodiscard]] LATCHKEY_TESTING_EXPORT std::string to_string(opcode operation);

/// The kind of a node to create.
enum class create_mode : std::int32_t {
  persistent = 0,
  ephemeral = 1,
  persistent_sequential = 2,
  ephemeral_sequential = 3,
  container = 4,
};

/// ZooKeeper's Stat. Times are milliseconds since the epoch.
struct node_stat {
  std::int64_t czxid = 0;
  std::int64_t mzxid = 0;
  std::int64_t ctime = 0;
  std::int64_t mtime = 0;
  std::int32_t version = 0;
  std::int32_t cversion = 0;
  std::int32_t aversion = 0;
  std::int64_t ephemeral_owner = 0;
  std::int32_t data_length = 0;
  std::int32_t num_children = 0;
  std::int64_t pzxid = 0;
};

}  // namespace latchkey::testing
