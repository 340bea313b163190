// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The parts of a `latchkey::client`, put together.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <latchkey/client.hpp>

#include "base/connect_string.hpp"
#include "base/log_budget.hpp"
#include "bridge/client_thread.hpp"
#include "bridge/monitor.hpp"
#include "bridge/znodes.hpp"
#include "session/connected_sessions.hpp"
#include "session/events.hpp"
#include "session/lease_keeper.hpp"
#include "session/metrics.hpp"
#include "session/open_parents.hpp"
#include "session/outage.hpp"
#include "session/own_nodes.hpp"
#include "session/peers.hpp"
#include "session/reaper.hpp"
#include "session/session.hpp"
#include "session/session_ending.hpp"
#include "session/session_file.hpp"
#include "session/waiting_calls.hpp"

namespace latchkey::detail {

/// A failure that waiting cannot fix, before it is thrown.
struct failure {
  errc code{};
  std::string what;
  std::string path;

  /// @returns the same failure with the path `lock`, unless it has a path already.
  failure at(const std::string& lock) const { return {code, what, path.empty() ? lock : path}; }

  [[noreturn]] void throw_it() const { throw error{code, what, path}; }
};

/// Told of the session: entries and lock objects, while they have something to lose.
class session_observer {
 public:
  virtual void on_connected() = 0;
  virtual void on_disconnected() {}
  virtual void on_session_over() = 0;
  virtual void on_failure(const failure& why) = 0;
  /// This node is not what a list says: it is ours and may not be deleted, or it is not there. Or it is first, and has
  /// not been told. Who waits for a node beside it, or with it, looks again.
  virtual void on_reassessed(const std::string& /*node*/) {}

 protected:
  ~session_observer() = default;
};

/// @returns a connector to the hosts of a connect string.
using connector_source = std::function<std::unique_ptr<connector>(const std::string& hosts)>;

/// One client: monitor, session, lease keeper, reaper, and their observers. Locks share the ownership, so that a closed
/// core outlives its `client`.
class client_core final : session_listener {
 public:
  /// @param port to other clients; may be null
  /// @param records of its sessions; may be none
  client_core(client_options options, const connect_string& servers, std::shared_ptr<monitor> own,
              std::unique_ptr<connector> opener, std::unique_ptr<datagram_port> port = {},
              std::optional<session_file> records = {});
  ~client_core();
  client_core(const client_core&) = delete;
  client_core& operator=(const client_core&) = delete;

  detail::monitor& monitor() noexcept { return *monitor_; }
  detail::session& session() noexcept { return session_; }
  detail::reaper& reaper() noexcept { return reaper_; }
  detail::lease_keeper& lease_keeper() noexcept { return keeper_; }
  detail::own_nodes& own_nodes() noexcept { return own_nodes_; }
  detail::open_parents& open_parents() noexcept { return open_parents_; }
  detail::waiting_calls& waiting_calls() noexcept { return waiting_calls_; }
  /// @returns null without `client_options::peers`.
  detail::peers* peers() noexcept { return peers_ ? &*peers_ : nullptr; }
  const client_options& options() const noexcept { return options_; }

  /// @returns the numbers of a group of locks; they live as long as this client. Without the monitor.
  /// @throws error bad_option for a name that a dashboard could not show
  lock_counts& group(const std::string& name) {
    return *monitor_->run([&] { return &metrics_.group(name); });
  }
  client_metrics metrics() const;

  /// @returns `path` below the chroot, which is the root of its clients. Without the monitor.
  std::string absolute(std::string_view path) const {
    return path == "/" && !chroot_.empty() ? chroot_ : chroot_ + std::string{path};
  }
  const std::string& chroot() const noexcept { return chroot_; }

  /// @param to_others opens sessions that another process has left on other servers than these
  void open(const connector_source& to_others = {});

  /// As if the process had been killed: closes without a word to the ensemble. @pre nothing passes to it any more
  LATCHKEY_EXPORT void abandon();

  /// @returns why every call fails: closed, or refused by the ensemble; nothing while the client works.
  const std::optional<failure>& failed() const noexcept { return failed_; }

  /// @returns whether there was a connection, and is none now.
  bool is_cut_off() const noexcept { return session_.ever_connected() && !session_.connected(); }
  /// @returns why there is no connection, and what to do; empty while there is one.
  std::string why_not_connected() const;
  /// @returns why a try fails now: the outage has lasted too long for a `false`; nothing otherwise.
  std::optional<failure> unreachable() const;
  /// @returns whether a warning about `path` is the first.
  bool warns_first(const std::string& path) {
    return warned_of_.size() < detail::open_parents::most_paths && warned_of_.insert(path).second;
  }
  bool has_warned(const std::string& path) const { return warned_of_.contains(path); }
  /// A call for the lock at `path` has ended without it. Logs, once, if there has been no connection yet.
  void say_if_never_connected(const std::string& path);
  /// @returns how long a try waits that begins now: for `most`, or less.
  time_point end_of_try(duration most = duration::max()) const;

  /// Ends every wait and grant, deletes, and closes. `on_closed` runs when that is done, or after `close_timeout`. Once
  /// it is closed: at once.
  void close(std::function<void()> on_closed);

  /// @returns a number for `remove_observer`.
  std::uint64_t add_observer(session_observer& observer);
  void remove_observer(std::uint64_t number) { observers_.erase(number); }
  /// As `session_observer::on_reassessed`, for all of them.
  void reassess(const std::string& node);
  std::size_t observers() const noexcept { return observers_.size(); }

  /// `what` runs once: at the next connection, or when there can be none any more. @returns a number for
  /// `forget_connected`.
  std::uint64_t when_connected(std::function<void()> what) {
    connecting_.emplace(++last_observer_, std::move(what));
    return last_observer_;
  }
  void forget_connected(std::uint64_t number) { connecting_.erase(number); }
  /// As `when_connected`, and after `pause` at the latest: for what is sent again.
  std::uint64_t after_pause(duration pause, std::function<void()> what);

  /// Tells `client_options::observer`.
  void tell(client_event event);
  /// Tells `client_options::trace`.
  void trace(trace_span::kind what, trace_span::outcome how, const std::string& path, time_point begin, time_point end,
             fencing_token fence = {}) {
    if (options_.trace) tell_trace({what, how, path, begin, end, fence});
  }

  /// Starts the thread that runs the timers. Without the monitor. (A simulation runs them itself.)
  /// @param port whose datagrams it receives; may be null
  void start_timers(udp_port* port = nullptr) { timers_ = std::make_unique<client_thread>(monitor_, port); }
  /// Ends both threads, except one that has been abandoned. Without the monitor, after `close`.
  void stop_threads();

  /// Runs a callback of a user on the event thread. One that runs for long is logged by its `name`. One that is to be
  /// dropped is if the client has been closed before its turn comes.
  LATCHKEY_EXPORT void post(std::function<void()> callback, const char* name,
                            when_abandoned what = when_abandoned::run);
  event_thread& events() noexcept { return events_; }

 private:
  void on_connected(bool new_session) override;
  void on_disconnected() override;
  bool on_session_over(session_end why) override;
  void on_answered(evidence what, time_point sent) override { keeper_.on_answered(what, sent); }
  void on_idle() override;

  void fail(failure why, loss_reason for_grants);
  void begin_outage();
  void report_outage(duration lasted);
  void end_session(loss_reason why);
  std::string advice() const;
  void tell_trace(trace_span span);
  void watch_callbacks(event_thread::running seen, duration ran);
  void close_session();
  void end_left_session(const recorded_session& left, const connector_source& to_others);
  void record_session();
  void record_end();
  void run_connecting();
  template <class Callable>
  void for_each_observer(Callable what);

  const client_options options_;
  const std::string chroot_;
  std::shared_ptr<detail::monitor> monitor_;
  event_thread events_;
  std::unique_ptr<client_thread> timers_;
  std::unique_ptr<connector> connector_;
  detail::metrics metrics_;
  detail::session session_;
  detail::reaper reaper_;
  detail::lease_keeper keeper_;
  detail::own_nodes own_nodes_;
  detail::open_parents open_parents_;
  outage outage_;
  detail::waiting_calls waiting_calls_;
  std::optional<detail::peers> peers_;
  bool said_lost_ = false;  // a connection, or a session, by a warning
  log_budget losses_;       // of connections
  bool said_never_connected_ = false;
  std::set<std::string> warned_of_;  // these paths
  connected_session connected_as_;
  const std::string hosts_;
  std::optional<session_file> records_;
  struct left_session {
    std::unique_ptr<session_ending> ending;
    std::unique_ptr<connector> own;  // to other servers; goes first
  };
  std::vector<left_session> left_;
  std::optional<failure> failed_;
  std::map<std::uint64_t, session_observer*> observers_;
  std::uint64_t last_observer_ = 0;
  std::map<std::uint64_t, std::function<void()>> connecting_;

  bool closing_ = false;
  bool closed_ = false;
  std::vector<std::function<void()>> on_closed_;
  timer_id close_timer_;
  timer_id slow_timer_;
  std::once_flag stopped_;
};

}  // namespace latchkey::detail
