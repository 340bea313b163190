// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The seam between latchkey and ZooKeeper: one session as requests, replies and events.
/// Two implementations: `zookeeper_handle` on the C client, and a fake with seeded faults in the tests.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/access.hpp>
#include <latchkey/error.hpp>
#include <latchkey/export.hpp>

#include "base/deadline.hpp"

namespace latchkey::detail {

/// What became of a request, by ZooKeeper's own numbers. Any other number is a refusal, too: it would be refused again.
enum class reply_code : std::int32_t {
  ok = 0,
  no_node = -101,
  no_permission = -102,  ///< the ACL refuses it
  bad_version = -103,
  no_children_for_ephemerals = -108,  ///< the parent is an ephemeral node
  node_exists = -110,
  not_empty = -111,
  invalid_acl = -114,              ///< the server cannot use the ACL: an unknown scheme, or no credentials
  authentication_demanded = -124,  ///< the server closes the connection: it serves authenticated sessions only
  quota_exceeded = -125,           ///< the path, or one above it, may have no more nodes, or bytes
  bad_arguments = -8,              ///< the server refuses the path or other arguments
  unimplemented = -6,              ///< the server does not know the request: it is too old, or extended types are off
  too_large = 2,                   ///< not sent: the servers do not take as much (`request_limit`)
  not_sent = 1,                    ///< it surely had no effect: it never left
  unknown_outcome = -4,            ///< the connection was lost: it may have had its effect, now or later
  session_over = -112,  ///< the session has expired, was refused or closed: it had no effect that outlives the session
};

/// @returns ZooKeeper's name of the code, as "ZNOAUTH"; of one that has no name there, its number, as "error -126".
LATCHKEY_EXPORT std::string zookeeper_name(reply_code code);

/// @returns name and number, as "ZNOAUTH -102", for what a user reads.
std::string name_and_number(reply_code code);

/// @returns whether a write that was answered so may have had its effect.
constexpr bool may_have_happened(reply_code code) noexcept {
  return code == reply_code::ok || code == reply_code::unknown_outcome;
}

/// @returns whether no server has answered: the connection or the session is gone, or it was never sent.
constexpr bool is_lost(reply_code code) noexcept {
  return code == reply_code::unknown_outcome || code == reply_code::not_sent || code == reply_code::session_over;
}

enum class operation : std::uint8_t {
  create,    ///< path, data, mode -> path, stat
  remove,    ///< path, any version
  children,  ///< path, watch -> children, stat
  get,       ///< path, watch -> data, stat
  get_acl,   ///< path -> data: letters of "cdrwa", what the ACL lets anyone do
  sync,  ///< path: later reads see everything committed before; also frees a stuck commit processor (ZOOKEEPER-4537)
  set,   ///< path, data, any version
  transact,  ///< steps: all of them, or none -> results, paths of the sequential nodes that it has created
};

enum class create_mode : std::uint8_t { persistent, container, ephemeral, ephemeral_sequential };

/// One operation of a transaction.
struct step {
  enum class operation : std::uint8_t { check, create, set, remove };

  operation what{};
  std::string path{};
  std::string data{};
  create_mode mode{};         ///< of a node to create; not a container (HAZARDS S10)
  std::int32_t version = -1;  ///< that the node must have for the others; -1: any
};

/// @returns a step of this kind for each of `paths`.
std::vector<step> steps_for(step::operation what, std::vector<std::string> paths);

/// More data of a node than any server takes (1 MiB): for `request::most_data`.
inline constexpr std::size_t all_data = std::size_t{1} << 30;

struct request {
  operation kind{};
  std::string path{};
  std::string data{};
  create_mode mode{};
  bool watch = false;            ///< tell `on_watch` of the next change of the path
  std::vector<step> steps{};     ///< of `transact`; not empty
  std::size_t most_data = 4096;  ///< of the data that is read, so much is handed on at most: records are far shorter
};

struct node_stat {
  std::int64_t czxid = 0;
  std::int64_t pzxid = 0;  ///< when a child was created or deleted last
  std::int64_t ephemeral_owner = 0;
  std::int64_t ctime = 0;    ///< when it was created: milliseconds since 1970, by the clock of the leader
  std::int32_t version = 0;  ///< of the data
};

struct reply {
  reply_code code{};
  std::string path;
  std::string data;           ///< the first `request::most_data` of it
  std::size_t data_size = 0;  ///< of all of it
  std::vector<std::string> children;
  node_stat stat;
  std::vector<reply_code>
      results;  ///< of a transaction, one for each step; the first that is not ok is the one that failed
  std::vector<std::string> paths;  ///< of the sequential nodes that a transaction has created, in its order
};

enum class connection_state {
  connected,     ///< to a server, also again; with the session's id and its negotiated timeout
  disconnected,  ///< may be left out before `connected`
  expired,       ///< the ensemble ended the session
  auth_failed,   ///< the ensemble does not accept the credentials
};

struct session_info {
  std::int64_t id = 0;
  std::chrono::milliseconds timeout{};
  std::string server{};    ///< its address, as in `connector::open`; empty when that is not known
  time_point asked_at{};   ///< of a new session: it was asked for later than this, if that is known
  std::string password{};  ///< with which another handle is let in to the session

  /// @returns whether a server of ZooKeeper may have given it. The C client reads any answer as that of one: text makes a
  /// timeout of two days and more.
  bool is_plausible() const noexcept {
    return id != 0 && timeout > std::chrono::milliseconds{0} && timeout <= std::chrono::hours{24};
  }
};

enum class watch_event { changed, deleted, children_changed };

/// Hears of one session, on the threads of the implementation, never inside a call of ours.
/// Requests of one session are answered in their order, each at most once, and a watch speaks before the answer to any
/// later request. After `expired` and `auth_failed` answers may be missing. `epoch` is that of `connector::open`.
class znodes_listener {
 public:
  virtual void on_connection(std::uint64_t epoch, connection_state state, session_info info) = 0;
  virtual void on_reply(std::uint64_t epoch, std::uint64_t id, reply answer) = 0;
  virtual void on_watch(std::uint64_t epoch, watch_event event, std::string_view path) = 0;

 protected:
  ~znodes_listener() = default;
};

/// The requests of one session. Not to be called concurrently, nor after it has been retired.
class znodes {
 public:
  virtual ~znodes() = default;

  /// Sends a request, in the order of the calls. Never blocks, never answers inside the call.
  /// @returns whether it was sent; if not, there will be no answer.
  virtual bool send(std::uint64_t id, request what) = 0;

  /// From the next attempt to connect that fails these servers are tried, and no others. Never blocks.
  /// @param list as `connector_listener::on_moved` has it
  virtual void use_servers(std::string /*list*/) {}

  /// @returns how often a server has accepted a connection and closed it before it let this session in. From any thread.
  virtual std::uint64_t turned_away() const noexcept { return 0; }

  /// @returns whether a server has accepted a connection and not answered yet. From any thread.
  virtual bool awaits_server() const noexcept { return false; }

  /// Before it is closed. @returns whether its listener is not called any more: the session has never begun. From any
  /// thread that does not hold the monitor.
  virtual bool hush() noexcept { return false; }
};

/// A session that another process has left.
struct former_session {
  std::int64_t id = 0;
  std::string password{};
};

/// What a session needs besides its epoch.
struct connector_options {
  std::vector<std::string> hosts;  ///< "name:port", names not resolved yet
  std::chrono::milliseconds session_timeout{};
  std::vector<credentials> authentication;
  std::vector<acl_entry> acl;
  std::string tls;
};

/// Hears of the opening of a session, on a thread of the connector, never inside `open`.
class connector_listener : public znodes_listener {
 public:
  /// Servers are known: the session is asked for from now on.
  virtual void on_opening(std::uint64_t /*epoch*/) {}

  /// @param session nothing when it could not be opened (names that do not resolve): try again later. Without a
  /// `failure`: no server is left but those that it was to do without.
  /// Events of the session may come before this.
  virtual void on_opened(std::uint64_t epoch, std::unique_ptr<znodes> session, std::string failure) = 0;

  /// The names of the hosts resolve to other addresses than this session has been given so far. As events, it may come
  /// before `on_opened`.
  /// @param servers all of them, for `znodes::use_servers`
  virtual void on_moved(std::uint64_t /*epoch*/, const std::string& /*servers*/) {}

 protected:
  ~connector_listener() = default;
};

/// Opens and closes sessions; blocks in neither.
class connector {
 public:
  /// Waits for what was opened and retired: afterwards no listener is called.
  virtual ~connector() = default;

  /// Asks the name servers, and does not wait for those that are slow when others tell of a server.
  /// @param epoch 0: of a second session beside that of another listener. Otherwise `on_moved` is told of what is found
  /// later.
  /// @param without addresses of servers that this session is not to be given
  virtual void open(std::uint64_t epoch, connector_listener& listener,
                    const std::vector<std::string>& without = {}) = 0;

  /// As `open` of a second session, but of one that has begun: the listener is told that it is connected, or expired. To
  /// retire it while it is connected ends it.
  virtual void resume(const former_session& session, connector_listener& listener) = 0;

  /// Asks the name servers again; `on_moved` is called when there are other servers than the session was given, each
  /// time that a name has told of some.
  virtual void look_for_moved_hosts() {}

  /// Closes a session in the background: a connected one is ended at the ensemble, with its ephemeral nodes.
  /// `on_closed` runs afterwards on a thread of the connector: no event and no reply of that session can come any more.
  virtual void retire(std::unique_ptr<znodes> session, std::function<void()> on_closed) = 0;

  /// No session is needed any more.
  virtual void forget_credentials() noexcept {}
};

}  // namespace latchkey::detail
