// SPDX-License-Identifier: Apache-2.0
#pragma once
// ZooKeeper's four-letter words of one server, as values.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "latchkey/testing/error.hpp"
#include "latchkey/testing/export.hpp"
#include "latchkey/testing/wire.hpp"

namespace latchkey::testing {

/// mntr: what a server counts since it started, or since srst(). See four_letter_words for what counts as a packet.
struct server_metrics {
  std::string server_state;  ///< "leader", "follower", "standalone"
  std::int64_t packets_received = 0;
  std::int64_t packets_sent = 0;
  std::int64_t outstanding_requests = 0;
  std::int64_t watch_count = 0;
  std::int64_t ephemerals_count = 0;
  std::int64_t znode_count = 0;
  std::int64_t num_alive_connections = 0;  ///< with the one that asks
  std::map<std::string, std::string> all;  ///< every line, without the prefix "zk_"
};

/// srvr, in short.
struct server_summary {
  std::string version;
  std::string mode;  ///< "leader", "follower", "standalone"
  std::int64_t zxid = 0;
  std::int64_t received = 0;
  std::int64_t sent = 0;
  std::int64_t connections = 0;
  std::int64_t outstanding = 0;
  std::int64_t node_count = 0;
};

/// wchs: the watches of the clients of this server.
struct watch_totals {
  std::int64_t connections = 0;
  std::int64_t paths = 0;
  std::int64_t watches = 0;
};

/// cons: one connection of this server.
struct connection_info {
  std::string peer;             ///< "127.0.0.1:40000"
  std::int64_t session_id = 0;  ///< 0: none, as with the connection that asks
  std::int64_t queued = 0;
  std::int64_t received = 0;  ///< with the connect request and the pings; since it opened or crst()
  std::int64_t sent = 0;
  std::chrono::milliseconds session_timeout{};
  std::string last_operation;                 ///< "PING", "CREA", ...
  std::map<std::string, std::string> fields;  ///< everything the server says, unparsed
};

/// dump: the sessions that this server knows of (on the leader: all) and their ephemeral nodes.
struct session_dump {
  std::vector<std::int64_t> sessions;
  std::map<std::int64_t, std::vector<std::string>> ephemerals;  ///< session id -> paths
};

/// Asks one server. Every call opens a connection of its own and blocks for at most the timeout.
///
/// What counts as a packet: see testcluster/README.md. To count the requests of a client exactly, put a proxy in
/// between.
/// @throws connection_failure  the server does not answer
/// @throws cluster_error       it answers that it is not serving (no quorum)
class LATCHKEY_TESTING_EXPORT four_letter_words {
 public:
  explicit four_letter_words(endpoint server, std::chrono::milliseconds timeout = std::chrono::seconds{3})
      : server_(std::move(server)), timeout_(timeout) {}

  /// @returns the whole answer to any word.
  [[nodiscard]] std::string ask(std::string_view word) const;

  [[nodiscard]] bool ruok() const;  ///< false instead of connection_failure
  [[nodiscard]] server_metrics mntr() const;
  [[nodiscard]] server_summary srvr() const;
  [[nodiscard]] watch_totals wchs() const;
  [[nodiscard]] std::map<std::string, std::vector<std::int64_t>> wchp() const;  ///< path -> session ids
  [[nodiscard]] std::map<std::int64_t, std::vector<std::string>> wchc() const;  ///< session id -> paths
  [[nodiscard]] std::vector<connection_info> cons() const;
  [[nodiscard]] session_dump dump() const;
  void srst() const;  ///< resets the server's counters
  void crst() const;  ///< resets the counters of its connections

 private:
  endpoint server_;
  std::chrono::milliseconds timeout_;
};

}  // namespace latchkey::testing
