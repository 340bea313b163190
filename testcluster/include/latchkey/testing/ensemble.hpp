// SPDX-License-Identifier: Apache-2.0
#pragma once
// A real ZooKeeper ensemble on this machine that tests can hurt.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "latchkey/testing/error.hpp"
#include "latchkey/testing/export.hpp"
#include "latchkey/testing/four_letter.hpp"
#include "latchkey/testing/raw_client.hpp"
#include "latchkey/testing/wire.hpp"

namespace latchkey::testing {

struct ensemble_options {
  std::size_t servers = 3;                                         ///< 1 (standalone) or more
  std::chrono::milliseconds tick{500};                             ///< ZooKeeper's tickTime
  int init_limit = 10;                                             ///< in ticks
  int sync_limit = 6;                                              ///< in ticks
  std::optional<std::chrono::milliseconds> min_session_timeout{};  ///< default: two ticks
  std::chrono::milliseconds max_session_timeout{60'000};
  std::chrono::milliseconds container_check_interval{60'000};
  std::vector<std::string> config_lines{};                            ///< appended to every zoo.cfg
  std::vector<std::string> jvm_args{};                                ///< for every server
  std::map<std::size_t, std::vector<std::string>> server_jvm_args{};  ///< for one server, after jvm_args
  bool quorum_proxies = false;  ///< route the links between servers through proxies: isolate() needs it
  std::chrono::milliseconds start_timeout{30'000};
  std::filesystem::path
      data_dir{};  ///< empty: a temporary folder, removed at the end (unless LATCHKEY_KEEP_DATA is set)
};

/// How a broken link behaves.
enum class link_fault {
  cut,         ///< connections are closed and refused: noticed at once
  black_hole,  ///< connections stay open, nothing passes: noticed after sync_limit ticks
};

/// Which packets between one server and the others.
enum class direction { incoming, outgoing };

/// Servers 0 to n-1, on loopback ports that stay the same for the life of the object; so do addresses, but for `move`.
///
/// Construction blocks until every server serves and a write has succeeded. The servers die with this process, however
/// it ends. Not movable. Calls that change a server must not run concurrently for the same server; else thread-safe.
/// In a forked child the object is inert: destroying it there touches nothing.
/// @throws missing_package  java or ZooKeeper is not installed
/// @throws cluster_error    a server does not start (the message quotes its log), or not in time
class LATCHKEY_TESTING_EXPORT ensemble {
 public:
  explicit ensemble(ensemble_options how = {});
  ensemble(const ensemble&) = delete;
  ensemble& operator=(const ensemble&) = delete;
  ~ensemble();  ///< kills the servers and removes the data

  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] const ensemble_options& options() const noexcept;
  [[nodiscard]] std::string connect_string() const;                    ///< all servers
  [[nodiscard]] std::string connect_string(std::size_t server) const;  ///< one
  [[nodiscard]] endpoint address(std::size_t server) const;            ///< where it serves clients
  [[nodiscard]] std::vector<endpoint> addresses() const;
  [[nodiscard]] std::filesystem::path data_dir() const;
  [[nodiscard]] std::filesystem::path log(std::size_t server) const;  ///< its output and ZooKeeper's log
  [[nodiscard]] int pid(std::size_t server) const;                    ///< 0: not running

  void stop(std::size_t server);     ///< SIGTERM (SIGKILL after 5 s); blocks until it is gone
  void kill(std::size_t server);     ///< SIGKILL; blocks until it is gone
  void start(std::size_t server);    ///< blocks until it serves, if a majority runs; else returns at once
  void restart(std::size_t server);  ///< kill (if it runs) and start
  void pause(std::size_t server);    ///< SIGSTOP; returns when it has stopped
  void resume(std::size_t server);   ///< SIGCONT
  /// Stops the one thread of a leader that pings its followers, by ptrace, and returns when it has stopped. All else of
  /// the server goes on: it answers, and commits writes. Until `resume_pings`, or the server is paused or started again.
  /// @throws cluster_error  it is neither leader nor follower, or this process may not trace
  void pause_pings(std::size_t server);
  void resume_pings(std::size_t server);  ///< A ping that is overdue comes at once. If they are not stopped: nothing.
  /// Its disk stalls: the thread that writes the log of transactions is stopped, as by `pause_pings`. All else goes on,
  /// but the server acknowledges no write.
  /// @throws cluster_error  it does not serve, or this process may not trace
  void stall_disk(std::size_t server);
  void resume_disk(std::size_t server);  ///< What is overdue is written at once. If it is not stalled: nothing.
  /// Its disk is full: whatever the process writes to a file fails (`EFBIG`: RLIMIT_FSIZE). A server then leaves the
  /// quorum with its next write. Until `free_disk`, or the server is started again.
  /// @throws cluster_error  it does not run
  void fill_disk(std::size_t server);
  void free_disk(std::size_t server);  ///< If the server does not run: nothing.
  /// Lines for the zoo.cfg of one server, after options().config_lines; the last of two counts. From its next start on.
  void configure(std::size_t server, const std::vector<std::string>& config_lines);
  /// The jars of one server, from its next start on: another version of ZooKeeper. Empty: those of the others.
  void use_class_path(std::size_t server, std::string class_path);
  /// From its next start on the server serves clients at another address of the loopback ("127.0.0.2"), with its port.
  void move(std::size_t server, std::string host);
  [[nodiscard]] bool running(std::size_t server) const;  ///< started, not paused, not dead

  /// The server that says it leads (of several, the one of the newest epoch); a lone server leads itself.
  [[nodiscard]] std::optional<std::size_t> leader() const;
  [[nodiscard]] std::vector<std::size_t> followers() const;
  std::size_t wait_for_leader(std::chrono::milliseconds timeout);  ///< @throws cluster_error when there is none in time
  void wait_for_quorum(std::chrono::milliseconds timeout);         ///< until a write succeeds; or cluster_error
  void wait_until_serving(std::size_t server, std::chrono::milliseconds timeout);  ///< until one does through it

  /// Breaks every link between this server and the others, both ways; its clients are still served.
  /// @pre options().quorum_proxies
  void isolate(std::size_t server, link_fault how = link_fault::black_hole);
  /// Keeps back the packets that this server gets from the others (incoming) or sends to them (outgoing), as a slow
  /// network does: connections stay open, the other direction passes, elections too. A follower that gets nothing for
  /// sync_limit ticks leaves its leader; a leader leaves a follower likewise.
  /// @pre options().quorum_proxies
  void hold_back(std::size_t server, direction which);
  void release(std::size_t server, direction which);  ///< lets pass what was kept back, in order
  /// When the newest of these packets passed: an idle leader pings its followers every half tick.
  [[nodiscard]] std::chrono::steady_clock::time_point last_passed(std::size_t server, direction which) const;
  void heal(std::size_t server);  ///< repairs the links of one server, releases what was kept back
  void heal();                    ///< of all servers

  /// Ends a session from outside, as if it had expired; blocks until that is committed.
  /// @returns false if the session was not there any more
  bool expire(const session_credentials& session);
  bool expire(std::int64_t session_id);  ///< the password follows from the id: credentials_of

  [[nodiscard]] four_letter_words admin(std::size_t server) const;

  /// Shorthands of raw_client, each through a short session of its own on the leader.
  std::string create(std::string_view path, std::string_view data = {}, create_mode mode = create_mode::persistent);
  void create_all(std::string_view path);
  bool remove(std::string_view path);
  bool remove_all(std::string_view path);
  void set(std::string_view path, std::string_view data);
  [[nodiscard]] std::optional<std::string> get(std::string_view path);
  [[nodiscard]] std::optional<node_stat> exists(std::string_view path);
  [[nodiscard]] std::vector<std::string> children(std::string_view path);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace latchkey::testing
