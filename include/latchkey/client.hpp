// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The connection to an ensemble, which locks share.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <latchkey/client_options.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/error.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/metrics.hpp>

namespace latchkey {

namespace detail {
class client_core;
class simulated_servers;
}  // namespace detail

/// A client of a ZooKeeper ensemble: it connects, reconnects, and begins a new session when one has expired. It runs
/// two threads of its own, in addition to the two of the C client.
///
/// Blocking: `wait_for_connection()` and `close()` suspend the calling fiber, or block a plain thread. So does the
/// constructor while it resolves host names, and the destructor. In a destructor that runs when the fiber scheduler of its
/// thread is gone, as at the end of a thread or process, the thread is blocked.
///
/// Concurrency: every member may be called from any thread and fiber, except from a callback of this client.
///
/// Lifetime: may be a static object, also one in a function. Its destructor then closes it after `main`, or in
/// `std::exit()`, on whatever thread that is called. Locks that are made from it may outlive it; they then throw
/// `errc::closed`. End the threads that wait for static locks before that: in them `errc::lock_destroyed` is thrown.
///
/// fork(): the client and everything made from it belong to the parent. In the child every call throws `errc::closed`,
/// grants have ended, and `close()`, `unlock()` and destructors do nothing. The child may make a client of its own. But if
/// another thread of the parent was in `getaddrinfo()` at the fork, as in the constructor of a client, a lock of the C
/// library may stay locked in the child, and that client then never connects. A child that calls `exec()` is free of that.
class LATCHKEY_EXPORT client {
 public:
  /// Resolves the host names, then connects in the background; one that resolves is enough. Names are resolved again
  /// while there is no connection: servers may move. One that does not resolve keeps the addresses that it had, and one
  /// that is slow to look up holds up no other.
  /// @param connect_string "host:port,host:port/chroot". The port may be left out; then it is 2181. A missing chroot is
  /// created.
  /// @throws error bad_connect_string, bad_option, unresolvable_host, unsupported
  /// @throws std::system_error if no thread can be started
  explicit client(given_text<std::string> connect_string, client_options options = {});

  /// A client whose servers are those of the environment variable `LATCHKEY_CONNECT`. Others take the place of an option
  /// where they are set and not empty; `latchkey/settings.hpp` says how they are read:
  ///
  /// | variable                   | option            | as                           |
  /// |----------------------------|-------------------|------------------------------|
  /// | `LATCHKEY_AUTH_FILE`       | `authentication`  | the path of a file           |
  /// | `LATCHKEY_SESSION_TIMEOUT` | `session_timeout` | `10s`                        |
  /// | `LATCHKEY_LABEL`           | `label`           | `billing-7`                  |
  /// | `LATCHKEY_ACL`             | `acl`             | `auth::cdrwa,world:anyone:r` |
  /// | `LATCHKEY_TLS`             | `tls`             | `ca.pem,client.pem,client.key` |
  ///
  /// The command `latchkey` reads the same ones. No other thread may change the environment meanwhile.
  /// @param others what no variable says
  /// @throws error bad_connect_string if `LATCHKEY_CONNECT` is missing, bad_option; and as the constructor throws
  [[nodiscard]] static client from_environment(client_options others = {});

  /// Connects to an ensemble in memory, in a test: pass a `testing::simulated_ensemble`, which converts to this. It does
  /// not look at `authentication`, `acl`, `tls` and `peers`: a direct hand-off is one by the ensemble there.
  /// @throws error bad_option
  explicit client(const std::shared_ptr<detail::simulated_servers>& ensemble, client_options options = {});

  /// As `close()`, but never throws. In a callback of this client, as when that calls `std::exit()`, it does not wait for
  /// callbacks.
  ~client();

  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// Waits at most `timeout` for a connected session. An address that accepts a connection and says nothing, or at which
  /// packets are dropped, costs two thirds of the session timeout before the next one is tried.
  /// @returns whether there is one.
  /// @throws error closed, authentication_failed, session_timeout_refused
  [[nodiscard]] bool wait_for_connection(saturating<std::chrono::nanoseconds> timeout);

  /// Ends every wait with `errc::closed` and every grant with `loss_reason::client_closed`, deletes the nodes of this
  /// client, and ends the session. Stop is requested on the tokens of the grants; the observer is not called, as this is
  /// no loss.
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

  /// @returns why there is no connected session, and what to do, in words for a log or a page of health; empty while there is
  /// one. Tells servers that accept connections and close them, as those without a quorum do, from silent ones.
  std::string why_not_connected() const;

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
