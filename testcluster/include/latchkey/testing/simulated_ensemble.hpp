// SPDX-License-Identifier: Apache-2.0
#pragma once

/// An ensemble in memory, for unit tests of services that use locks.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/clock.hpp>
#include <latchkey/duration.hpp>

namespace latchkey::testing {

class ensemble_thread;

/// An ensemble in memory that clients connect to, `client one{ensemble, options}`, in place of ZooKeeper servers. Its
/// network takes no time. It runs one thread, on which it also runs the timers of its clients.
///
/// Time: the clock of the ensemble and its clients is that of the machine until `advance()` moves it forward.
/// `valid_until()` of a grant is a time of this clock: compare it with `now()`, not with `boottime_clock::now()`.
///
/// Blocking: a member that changes something returns when what follows from that has been done: requests have been
/// answered, timers that are due have run, and so have the callbacks of users. What a woken caller does next, on its own
/// thread or fiber, is not waited for. Members suspend the calling fiber, or block a plain thread.
///
/// Concurrency: every member may be called from any thread and fiber. In a callback of a client, all but `now()` throw
/// `std::system_error` with `resource_deadlock_would_occur`.
///
/// Lifetime: may end before its clients, for which it goes on until the last of them has gone. In a child of `fork()`
/// every member but `now()` throws `errc::closed`.
///
/// Memory: what has been committed is kept until the end, some 800 bytes for each lock and unlock. Make a new ensemble for
/// each test.
///
/// Not simulated: credentials, ACLs and TLS, and an ensemble that loses servers or its leader.
class simulated_ensemble {
 public:
  simulated_ensemble();
  ~simulated_ensemble();
  simulated_ensemble(const simulated_ensemble&) = delete;
  simulated_ensemble& operator=(const simulated_ensemble&) = delete;

  /// What a client connects to: `client one{ensemble}`.
  operator const std::shared_ptr<detail::simulated_servers>&() const noexcept { return servers_; }

  /// Ends the session of a client, and deletes its nodes. A client that is connected learns of it before this returns,
  /// and has a new session. As with a real ensemble, the next contender may be granted a lock a moment before that: use
  /// `cut()` and `advance()` to test exclusion.
  /// @throws std::invalid_argument if the client is not one of this ensemble
  void expire_session(const client& whose);

  /// From now on nothing passes between a client and the ensemble. As with a network that drops packets, the client
  /// learns of that as time goes on: it is disconnected after two thirds of the session timeout, its grants end with
  /// their lease (see `client_options::session_timeout`), and then the ensemble ends its session.
  /// @throws std::invalid_argument if the client is not one of this ensemble
  void cut(const client& whose);

  /// Cuts off every client, those that are made later too.
  void cut();

  /// Ends `cut(whose)`. What has been sent meanwhile arrives, or the client connects again.
  /// @throws std::invalid_argument if the client is not one of this ensemble
  void heal(const client& whose);

  /// Ends every cut.
  void heal();

  /// As if the process of a client had been killed: the client is closed at once and without a word to the ensemble, so
  /// that its session, with its locks, lives on until its timeout, or until another client with the same
  /// `client_options::session_file` ends it. It stays cut off.
  /// @throws std::invalid_argument if the client is not one of this ensemble
  void abandon(client& whose);

  /// Deletes a node with everything below it, as an operator does. Its owner learns of it at once if the entry is 10 ms
  /// old (`advance()` makes it older), otherwise when it is. As with a real ensemble, the next contender may be granted
  /// the lock a moment before that.
  /// @returns whether there was one. @throws error bad_path
  [[nodiscard]] bool delete_node(std::string_view path);

  /// @returns the names of the nodes below `path`, sorted as text, which is not the order of the queue; none if it does
  /// not exist. @throws error bad_path
  std::vector<std::string> children(std::string_view path) const;

  /// Moves the clock forward, through everything that happens until then, in its order: sessions are kept alive or
  /// expire, proofs are sent, timeouts end. Takes no time of its own but that for running it: some microseconds for each
  /// request that the clients send meanwhile, more with many clients.
  /// @throws std::invalid_argument for a negative time, or more than 31 days at a time
  void advance(saturating<std::chrono::nanoseconds> by);

  /// @returns the present time of the ensemble and its clients.
  boottime_clock::time_point now() const noexcept;

 private:
  std::shared_ptr<ensemble_thread> thread_;
  std::shared_ptr<detail::simulated_servers> servers_;
};

}  // namespace latchkey::testing
