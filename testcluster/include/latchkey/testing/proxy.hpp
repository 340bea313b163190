// SPDX-License-Identifier: Apache-2.0
#pragma once
// The network between one client and its servers, as tests like to have it: counted, slow, lossy, dead.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "latchkey/testing/error.hpp"
#include "latchkey/testing/export.hpp"
#include "latchkey/testing/wire.hpp"

namespace latchkey::testing {

/// A TCP proxy that understands ZooKeeper's frames; it listens on one loopback port for every server.
///
/// A thread of its own does the work. Every call takes effect before it returns; nothing blocks but the functions that
/// wait. Thread-safe. Several clients may share one proxy; then the counters and the "next" are of all of them.
///
/// "next" faults: each call arms one fault for one request of that kind that arrives later, in order of arming.
class LATCHKEY_TESTING_EXPORT proxy {
 public:
  /// @param first_port  of the first server; the others have the next ones. 0: ports that are free
  /// @throws cluster_error  no port to listen on
  explicit proxy(std::vector<endpoint> servers, std::uint16_t first_port = 0);
  proxy(const proxy&) = delete;
  proxy& operator=(const proxy&) = delete;
  ~proxy();  ///< closes every connection

  [[nodiscard]] std::string connect_string() const;  ///< the proxy's ports, in the order of the servers
  [[nodiscard]] std::string connect_string(std::size_t server) const;  ///< one of them
  [[nodiscard]] endpoint address(std::size_t server) const;

  // Faults of the network. A server has one state: healthy, cut or a black hole; the last call counts.
  void cut();  ///< closes the connections, refuses new ones
  void cut(std::size_t server);
  void black_hole();  ///< connections stay open and new ones open; nothing passes, either way
  void black_hole(std::size_t server);
  void black_hole_to_servers();                   ///< as `black_hole`, but what servers send still arrives
  void black_hole_to_clients();                   ///< as `black_hole`, but what clients send still arrives
  void heal();                                    ///< healthy again, no delay, no fault armed, what was held passes
  void heal(std::size_t server);                  ///< that server is healthy again; what a black hole kept passes
  void disconnect();                              ///< closes the connections, once; new ones are welcome
  void delay(std::chrono::milliseconds one_way);  ///< latency each way, order kept; 0: none

  // Faults of one request.
  void drop_next(opcode operation);  ///< closes the connection instead of forwarding: lost before the effect
  void drop_reply_of_next(
      opcode operation);  ///< forwards; closes instead of delivering the reply: lost after the effect
  /// Forwards; keeps back the reply (opcode::notification: the next watch event) and all that follows on the
  /// connection.
  void hold_reply_of_next(opcode operation);
  void release_held();  ///< lets pass what is held

  // What has passed. Counted on arrival from the client, without pings, authentication and connect requests.
  [[nodiscard]] std::map<std::string, std::uint64_t> requests() const;  ///< name of the operation -> count
  [[nodiscard]] std::uint64_t requests(opcode operation) const;         ///< pings too, if asked for
  [[nodiscard]] std::uint64_t total_requests() const;
  void reset_requests();

  /// Waits until at least `count` requests of the kind have come since construction or reset_requests().
  /// The one that satisfies it is already forwarded, or its fault has struck.
  bool wait_for_request(opcode operation, std::uint64_t count, std::chrono::milliseconds timeout) const;
  /// Waits until no armed fault is left: each has dropped or holds what it was armed for.
  bool wait_for_faults(std::chrono::milliseconds timeout) const;
  /// Waits until a client is connected with a session (true), or none is (false).
  bool wait_for_connected(bool connected, std::chrono::milliseconds timeout) const;

  /// The session of the newest connect response that passed: give it to ensemble::expire.
  [[nodiscard]] std::optional<session_credentials> last_session() const;
  /// The server to which the session of last_session() is connected through this proxy, if it is.
  [[nodiscard]] std::optional<std::size_t> connected_server() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace latchkey::testing
