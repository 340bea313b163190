// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The connection to an ensemble, which locks share.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/access.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/error.hpp>
#include <latchkey/export.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/hand_off.hpp>
#include <latchkey/metrics.hpp>
#include <latchkey/trace.hpp>

namespace latchkey {

namespace detail {
class client_core;
class simulated_servers;
}  // namespace detail

/// An event that is reported to the observer of a client.
struct client_event {
  /// What happened.
  ///
  /// `unreachable`: no server has answered for `connect_timeout`. Reported again each time the outage has lasted twice
  /// as long, at most 10 minutes apart. The next `connected` ends it.
  /// `suspect`: a proof of the lease is overdue. The grant is still valid, for another twelfth of the session timeout;
  /// the next answer of a server may extend it.
  enum class kind { connected, disconnected, session_expired, suspect, lost, asked_to_release, closed, unreachable };
  kind what{};                          ///< what happened
  std::string path{};                   ///< of the lock, for `suspect`, `lost` and `asked_to_release`
  std::optional<loss_reason> reason{};  ///< for `lost`; never `client_closed`, which is not reported
  /// How long no server has answered, for `unreachable`, and `connected` after it. A server that is silent is noticed
  /// only after two thirds of the session timeout; they are counted.
  std::chrono::milliseconds outage{};
  std::size_t waiting_calls = 0;  ///< for `unreachable`: how many calls wait for locks of this client
};

/// @returns the event in words, for a log.
LATCHKEY_EXPORT std::string_view to_string(client_event::kind kind) noexcept;

/// When a grant counts as lost.
enum class loss_policy {
  at_deadline,       ///< when the session may have expired (the default): a grant survives a short outage
  at_disconnection,  ///< as soon as the connection to the server is lost
};

/// How a client connects, and what it gives to its sessions and nodes.
struct client_options {
  /// How long the ensemble keeps the session of a client that it does not hear, and with it the locks: from 100
  /// milliseconds to a day. With a short one a crashed holder is replaced sooner; with a long one a lock survives a
  /// longer outage. If the limits of the ensemble shorten or lengthen it, the log says so; a `max_hold` is kept to as it
  /// is, since the holder itself measures it.
  ///
  /// How long a lock survives a network that freezes, in seconds, measured (OPERATIONS.md has more):
  ///
  /// | session timeout | worst | typical | best |
  /// |-----------------|-------|---------|------|
  /// | 4               | 1.2   | 1.7     | 2.1  |
  /// | 6               | 1.9   | 2.3     | 3.2  |
  /// | 10              | 3.2   | 4.6     | 5.1  |
  /// | 30              | 9.6   | 11.8    | 15.0 |
  ///
  /// A leader that stalls sends its pings late, and may stall just when it loses a server. Below four ticks of the
  /// servers a grant may then outlive its session after a short stall already: prefer five ticks or more, and set
  /// `server_tick` otherwise. OPERATIONS says how late pings may be.
  saturating<std::chrono::milliseconds> session_timeout{std::chrono::seconds{10}};
  /// The `tickTime` of the servers, which determines how long a lease can be relied on. Zero means: at most half of the
  /// session timeout, which ZooKeeper guarantees unless its `minSessionTimeout` was set below two ticks. With a session
  /// timeout below four ticks a client that is told bears later pings of the leader, and proves its leases twice as
  /// often. A session timeout below 4/3 of a tick is refused, because no lease can be kept with it. Behind an
  /// ObserverMaster no value helps: connect to other servers.
  saturating<std::chrono::milliseconds> server_tick{};
  /// Whether an idle client sends a `sync` every sixth of the session timeout, in place of a ping every third. Then its
  /// next lock needs no extra round trip. Set it to false for a great many clients that are mostly idle. Then the first
  /// grant after a quiet time trusts, until it has been proved, that neither the network nor this process has stalled
  /// shortly before. If one did, and the server is cut off from its quorum at that moment, the grant may outlive the
  /// session by up to 5/12 of its timeout.
  bool keep_lease_ready = true;
  /// How long no server may answer before that is reported, by a warning in the log and to the observer; at least a
  /// second. It also limits how long the constructor waits for name servers, at least a second, and how long a try
  /// waits for the first connection of a client; then it fails (see `errc::unreachable`). Once there has been a
  /// connection, a try waits for the ensemble's answer at most so long, unless it is zero, and at most half of the
  /// session timeout. A try that reads first what the users of its path have agreed on, as that of several permits,
  /// waits so long twice at most.
  saturating<std::chrono::milliseconds> connect_timeout{std::chrono::seconds{10}};
  /// How long a call waits before the log says, at level `info`, who holds the lock, or by a warning that this process
  /// itself does; and again each time that the wait has doubled. The leader is then also asked whether the node of that
  /// holder still exists: a server that has lost a transaction may still show a deleted node (see ZOOKEEPER-4785), for
  /// which a call would wait for ever. Zero turns both off. Each time costs one list, one write and one read.
  saturating<std::chrono::milliseconds> report_waits_after{std::chrono::seconds{30}};
  /// How long `close()` and the destructor wait for the nodes of this client to be deleted, and for callbacks.
  saturating<std::chrono::milliseconds> close_timeout{std::chrono::seconds{5}};
  /// A name for this client in the data of its nodes, read by `queue_snapshot`; at most 512 bytes. Empty: the name of
  /// the program.
  std::string label{};
  /// Presented to the ensemble in every session. At most 64 KiB together with `acl`. The client moves them to one place
  /// in memory, which it overwrites in `close()`, as no session needs them any more. What your own copy of the options
  /// and the C client leave in memory is not overwritten. The same holds for `tls`.
  std::vector<credentials> authentication{};
  /// ACL for created nodes. Empty: open to all, as in Curator. A lock needs the permissions c, d and r; an ACL in which
  /// no entry has one of them is refused.
  ///
  /// It protects nothing below an open parent: ZooKeeper asks the ACL of the lock's path whether a client may create
  /// and delete entries. Create that path with its ACL before its first use, as a persistent node: a container goes
  /// when it is empty. If anyone may create, delete or administrate there, the client logs a warning, once for each
  /// path, up to 1024 of them. For that it reads the ACL of each path once.
  std::vector<acl_entry> acl{};
  /// Certificates for TLS: "ca.pem,client.pem,client.key,password", as `zookeeper_init_ssl` takes them. The password may
  /// be left out, with its comma, if the key has none. Empty: no TLS.
  ///
  /// It does not authenticate the server: a C client with OpenSSL accepts any host name, and trusts the certificate
  /// authorities of the system beside the given one. Debian's C client has no TLS; with it this throws `unsupported`. For
  /// both, use a TLS proxy that checks the host name, such as stunnel with `checkHost`: OPERATIONS.md says how.
  std::string tls{};
  /// When a grant counts as lost.
  loss_policy when_lost = loss_policy::at_deadline;
  /// Whether the client begins a new session with servers that do not have what it has seen, as after a start without
  /// data, or of a backup. False: its calls fail with `errc::data_lost`, until the process makes another client.
  ///
  /// Fencing tokens are transaction ids, and such servers count anew: a resource refuses the tokens of new holders, as they
  /// are smaller than the largest that it has seen, and a request of an old holder that is still under way passes. Set
  /// it to true only if no resource looks at tokens, or if the name of the ensemble's data is part of what they protect
  /// (`fence_gate`, "A new ensemble").
  bool go_on_after_data_loss = false;
  /// The UDP endpoint for locks with `hand_off::direct`. Empty: no socket is opened. Refused with an `acl` that lets a
  /// user read or create nodes but not delete them: a reader sees the key that authenticates a release, and a creator
  /// can claim one. The ACL of a lock's path is not checked: all users who may create there must be trusted.
  std::optional<peer_options> peers{};
  /// Told of events of the session and the locks, one at a time, on the client's event thread. It must not suspend a
  /// fiber. An exception that it throws ends the process, after a log line that names the event. A slow observer delays
  /// other callbacks, and with them the stop tokens of lost locks: `if (held)` is right meanwhile. One that runs for a
  /// quarter of the session timeout is logged.
  ///
  /// To end the process, tell the thread that owns the client. `std::exit()` in a callback destroys static objects that
  /// other threads still use, and no local ones: the locks of a local client are held until its session times out.
  std::function<void(const client_event&)> observer{};
  /// Told of calls that have waited for locks and of grants that have ended, each when it is over, for a tracer. Called
  /// as the observer is. Empty: costs nothing.
  std::function<void(const trace_span&)> trace{};
};

/// A client of a ZooKeeper ensemble: it connects, reconnects, and begins a new session when one has expired. It runs
/// two threads of its own, in addition to the two of the C client.
///
/// Blocking: `wait_for_connection()` and `close()` suspend the calling fiber, or block a plain thread. So does the
/// constructor while it resolves host names, and the destructor. A thread whose first call to latchkey is `close()` or
/// a destructor is blocked, even if it runs fibers.
///
/// Concurrency: every member may be called from any thread and fiber, except from a callback of this client.
///
/// Lifetime: may be a static object, also one in a function. Its destructor then closes it after `main`, or in
/// `std::exit()`, on whatever thread that is called. Locks that are made from it may outlive it; they then throw
/// `errc::closed`. End the threads that wait for static locks before that: in them `errc::lock_destroyed` is thrown.
///
/// fork(): the client and everything made from it belong to the parent. In the child every call throws `errc::closed`,
/// grants have ended, and `close()`, `unlock()` and destructors do nothing. The child may make a client of its own.
class LATCHKEY_EXPORT client {
 public:
  /// Resolves the host names, then connects in the background. Names are resolved again while there is no connection:
  /// servers may move. One that does not resolve keeps the addresses that it had.
  /// @param connect_string "host:port,host:port/chroot". The port may be left out; then it is 2181. A missing chroot is
  /// created.
  /// @throws error bad_connect_string, bad_option, unresolvable_host, unsupported
  explicit client(std::string connect_string, client_options options = {});

  /// Connects to an ensemble in memory, in a test: pass a `testing::simulated_ensemble`, which converts to this. It does
  /// not look at `authentication`, `acl` and `tls`.
  /// @throws error bad_option
  explicit client(const std::shared_ptr<detail::simulated_servers>& ensemble, client_options options = {});

  /// As `close()`, but never throws. In a callback of this client, as when that calls `std::exit()`, it does not wait for
  /// callbacks.
  ~client();

  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// Waits at most `timeout` for a connected session.
  /// @returns whether there is one.
  /// @throws error closed, authentication_failed, session_timeout_refused
  bool wait_for_connection(saturating<std::chrono::nanoseconds> timeout);

  /// Ends every wait with `errc::closed` and every grant with `loss_reason::client_closed`, deletes the nodes of this
  /// client, and ends the session. The stop tokens of the grants are told, the observer is not: for it this is no loss.
  ///
  /// Waits for all that at most `close_timeout`, and then until the C client has closed its connection: milliseconds,
  /// or some seconds if the server hangs. Does not wait for name servers.
  ///
  /// Callbacks that are due run before it returns. One that is still running when `close_timeout` is over is abandoned,
  /// so what it uses must outlive it; stop is requested on the remaining grants once it has returned. The observer is
  /// not called after `close()`.
  /// @throws std::system_error resource_deadlock_would_occur when called from a callback of this client
  void close();

  /// @returns whether there is a connected session now.
  bool connected() const;

  /// @returns the session timeout that the ensemble agreed to; zero before the first connection.
  std::chrono::milliseconds session_timeout() const;

  /// @returns the id of the session; zero if there is none.
  std::int64_t session_id() const;

  /// @returns the numbers of this client and its locks, taken at one moment. Keeps them from changing for some
  /// microseconds, longer with a great many groups of locks.
  client_metrics metrics() const;

  /// @returns what locks are made from; for latchkey's own use.
  const std::shared_ptr<detail::client_core>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::client_core> core_;
};

}  // namespace latchkey
