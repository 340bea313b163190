// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The connection to an ensemble that locks share.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/access.hpp>
#include <latchkey/error.hpp>
#include <latchkey/grant.hpp>

namespace latchkey {

namespace detail {
class client_core;
}

/// What the observers of a client are told.
struct client_event {
  /// What happened.
  enum class kind { connected, disconnected, session_expired, suspect, lost, asked_to_release, closed };
  kind what{};                        ///< what happened
  std::string path;                   ///< of the lock, for `suspect`, `lost` and `asked_to_release`
  std::optional<loss_reason> reason;  ///< for `lost`
};

/// @returns the name of the event in words, for a log.
std::string_view to_string(client_event::kind kind) noexcept;

/// When a grant counts as lost.
enum class loss_policy {
  at_deadline,       ///< when the session may have expired: it survives a short outage (the default)
  at_disconnection,  ///< as soon as the connection to the server is lost
};

/// How a client connects, and what belongs to its sessions and nodes.
struct client_options {
  /// How long the ensemble keeps the session, and with it the locks, of a client it does not hear. Short: a crashed
  /// holder is replaced sooner. Long: a lock survives a longer outage.
  std::chrono::milliseconds session_timeout{10'000};
  /// The ensemble's `tickTime`: how long a lease can be relied on follows from it. Zero: at most half of the session
  /// timeout, which ZooKeeper guarantees unless its `minSessionTimeout` was set below two ticks. A session timeout
  /// below 4/3 of a tick is refused, since no lease can be kept with it. Behind observer masters: two ticks of the
  /// ensemble count as one.
  std::chrono::milliseconds server_tick{0};
  /// Whether the client sends a `sync` every sixth of the session timeout while it is idle, in place of a ping every
  /// third, so that its next lock needs no extra round trip. For a great many clients that are mostly idle: false. Then
  /// the first grant after a quiet time trusts, until it has been proved, that neither the network nor this process has
  /// stalled shortly before; if one did, and the server is cut off from its quorum at that moment, the grant may
  /// outlive the session by up to 5/12 of its timeout.
  bool keep_lease_ready = true;
  /// For how long `try_lock()` waits for a connection when there has never been one.
  std::chrono::milliseconds connect_timeout{10'000};
  /// For how long `close()`, and the destructor, wait for the nodes of this client to be deleted, and for callbacks.
  std::chrono::milliseconds close_timeout{5'000};
  /// Who we are, for the people who look at a queue; at most 512 bytes. Default: the name of the program.
  std::string label{};
  /// Presented to the ensemble in every session.
  std::vector<credentials> authentication{};
  /// ACL of every node that is created. Empty: open to all, as in Curator. Those who use a lock need the permissions
  /// c, d and r: an ACL that gives one of them to nobody is refused, and one of more than 64 KiB.
  std::vector<acl_entry> acl{};
  /// Certificates for TLS: "ca.pem,client.pem,client.key,password", as `zookeeper_init_ssl` takes them. Empty: no TLS.
  std::string tls{};
  /// When a grant counts as lost.
  loss_policy when_lost = loss_policy::at_deadline;
  /// Told of what happens to the session and the locks, on the client's event thread. Must neither throw nor suspend a
  /// fiber; while it runs, only other callbacks wait.
  std::function<void(const client_event&)> observer{};
};

/// A client of a ZooKeeper ensemble: it connects, reconnects, and begins a new session after one has expired.
/// It needs two threads of its own beside the two of the C client. Locks made from it may outlive it: they then throw
/// `errc::closed`. Members may be called from any thread and fiber, but not from a callback of the client itself.
class client {
 public:
  /// Resolves the names of the hosts, then connects in the background.
  /// @param connect_string "host:port,host:port/chroot". The chroot is created when it is missing.
  /// @throws error bad_connect_string, bad_option, unresolvable_host, unsupported
  explicit client(std::string connect_string, client_options options = {});

  /// As `close()`; never throws.
  ~client();

  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// Waits for a session: suspends the fiber, or blocks the thread.
  /// @returns whether there is one.
  /// @throws error closed, authentication_failed, session_timeout_refused
  bool wait_for_connection(std::chrono::nanoseconds timeout);

  /// Ends every wait with `errc::closed` and every grant with `loss_reason::client_closed`, deletes the nodes of this
  /// client, ends the session. Waits for all that: suspends the fiber, or blocks the thread, for `close_timeout` at
  /// most, and then for as long as the C client takes to close its connection: milliseconds, with a server that hangs
  /// some seconds. Does not wait for name servers.
  ///
  /// Callbacks: those that are due run before it returns. A callback that has not returned when `close_timeout` is over
  /// is left to itself, so what it uses must outlive it. The observer is not called after `close()`; stop tokens of
  /// grants are requested once that callback has returned.
  void close();

  /// @returns whether there is a session with a connection now.
  bool connected() const;

  /// @returns the session timeout the ensemble agreed to; zero before the first connection.
  std::chrono::milliseconds session_timeout() const;

  /// @returns the id of the session; zero when there is none.
  std::int64_t session_id() const;

  /// @returns what locks are made from; for latchkey's own use.
  const std::shared_ptr<detail::client_core>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::client_core> core_;
};

}  // namespace latchkey
