// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The settings of a client, and what its observer is told.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/access.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/hand_off.hpp>
#include <latchkey/trace.hpp>

namespace latchkey {

/// An event that is reported to the observer of a client.
struct client_event {
  /// What happened.
  ///
  /// `unreachable`: no server has answered for `connect_timeout`. Reported again each time the outage has lasted twice
  /// as long, at most 10 minutes apart. The next `connected` ends it.
  /// `suspect`: a proof of the lease is overdue. The grant is still valid, for another twelfth of the session timeout;
  /// the next answer of a server may extend it. Left out if this process does not run meanwhile.
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
  /// How long the ensemble keeps the session, and with it the locks, of a client that it does not hear from: from 100
  /// milliseconds to a day. With a short one a crashed holder is replaced sooner; with a long one a lock survives a
  /// longer outage. If the limits of the ensemble shorten or lengthen it, the log says so; a `max_hold` does not change
  /// with it, since the holder itself measures it.
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
  /// servers, even a short stall may then let a grant outlive its session: prefer five ticks or more, and set
  /// `server_tick` otherwise. OPERATIONS says how late pings may be.
  saturating<std::chrono::milliseconds> session_timeout{std::chrono::seconds{10}};
  /// The `tickTime` of the servers, which determines how long a lease can be relied on. Zero means: at most half of the
  /// session timeout, which ZooKeeper guarantees unless its `minSessionTimeout` was set below two ticks. With a session
  /// timeout below four ticks, setting it lets the leader's pings be later, and doubles the proofs of leases. A session
  /// timeout below 4/3 of a tick is refused, because no lease can be kept with it. Behind an ObserverMaster no value
  /// helps: connect to other servers.
  saturating<std::chrono::milliseconds> server_tick{};
  /// Whether an idle client sends a `sync` every sixth of the session timeout, in place of a ping every third. Then its
  /// next lock needs no extra round trip. Set it to false for a great many clients that are mostly idle. Then the first
  /// grant after a quiet time assumes, until it has been proved, that neither the network nor this process stalled
  /// shortly before. If one did, and the server is cut off from its quorum at that moment, the grant may outlive the
  /// session by up to 5/12 of its timeout.
  bool keep_lease_ready = true;
  /// How long no server may answer before that is reported, by a warning in the log and to the observer; at least a
  /// second. It also limits how long the constructor waits for name servers, at least a second, and how long a try
  /// waits for the first connection of a client; then it fails (see `errc::unreachable`). Once there has been a
  /// connection, a try waits for the ensemble's answer at most this long, and at most half of the session timeout.
  /// Must be positive. A try that first reads what the users of its path have agreed on, such as one for several permits,
  /// waits at most twice as long.
  saturating<std::chrono::milliseconds> connect_timeout{std::chrono::seconds{10}};
  /// How long a call waits before the log says who holds the lock, at level `info`, or with a warning if it is this
  /// process (for a semaphore: if this client holds all permits; for `any_lock` and the calls of `keyed_mutex` for any
  /// key never); and again each time that the wait has doubled. The same for tries and calls with a timeout that fail
  /// one right after another for that time, if it is this process. The leader is then also asked whether the node of
  /// that holder still exists: a server that has lost a transaction may still show a deleted node (see
  /// ZOOKEEPER-4785), for which a call would wait for ever. Zero turns both off. Each time costs one list, one write and
  /// one read.
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
  /// authorities of the system in addition to the given one. Debian's C client has no TLS; with it this throws
  /// `unsupported`. For both, use a TLS proxy that checks the host name, such as stunnel with `checkHost`: OPERATIONS.md
  /// says how.
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
  /// A file in which the client keeps the ids of its sessions, so that they can be ended should this process die without
  /// closing it. Empty: none.
  ///
  /// When the client is made it ends, in the background, the session of a process that has died with this file: the
  /// locks of that process are free after some 50 ms, not only after its session timeout. `end_left_sessions` does the
  /// same from another program.
  ///
  /// The file is locked (flock) while this process lives, also while it is stopped; a client for which another process,
  /// or another client of this one, has locked it is refused with `errc::session_file_in_use`. It must be on a local file
  /// system, and is made with mode 0600: what it holds ends sessions. One file for each client. It slows no call; it is
  /// written when a session begins or ends, so keep it where nothing stalls, as on the tmpfs of /run.
  ///
  /// Child processes that act for this one are not looked at: kill them before it is started again. And mind that the
  /// next holder may begin sooner after a crash than without the file, when requests that the dead process had sent to
  /// other services are still on their way: see PROTECTING.md, "When the dead still speak".
  std::string session_file{};
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

}  // namespace latchkey
