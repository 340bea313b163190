// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The current session, and its requests and watches.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bridge/monitor.hpp"
#include "bridge/znodes.hpp"
#include "session/liveness.hpp"
#include "session/metrics.hpp"
#include "session/reply_callback.hpp"
#include "session/request_limit.hpp"
#include "session/request_queue.hpp"
#include "session/second_handle.hpp"
#include "session/silence.hpp"
#include "session/size_question.hpp"
#include "session/watch_table.hpp"

namespace latchkey::detail {

/// Why a session has ended. `data_lost`: the servers do not have what it has seen, so earlier tokens are larger than
/// those to come.
enum class session_end { expired, auth_failed, authentication_demanded, timeout_refused, data_lost };

/// Told of the session.
class session_listener {
 public:
  virtual void on_connected(bool new_session) = 0;
  virtual void on_disconnected() = 0;
  /// Requests in flight have been answered with `session_over`, watches are forgotten.
  /// @returns whether another session is wanted.
  virtual bool on_session_over(session_end why) = 0;
  /// A request that was sent at `sent` has been answered. Its own callback runs afterwards.
  virtual void on_answered(evidence what, time_point sent) = 0;
  /// Nothing is in flight any more.
  virtual void on_idle() = 0;

 protected:
  ~session_listener() = default;
};

/// How much of the list of watches may be used up, in halves of what is meant for the watches on own nodes. Those without
/// which a release would be noticed late may use more, and those that only tell more may use less.
enum class watch_room : std::size_t { spare = 1, own = 2, needed = 3 };

/// Holds the current session: opens it, limits the requests in flight, answers those that the loss of a connection has
/// left open, routes watches, and frees stuck requests. Begins a new session after an expiry, when a server refuses the
/// session timeout that others may accept or makes it longer, and when no connection brings an answer (`silence`). The
/// entry points of the listener take the monitor.
class session final : connector_listener {
 public:
  /// @param least_timeout a session with a shorter timeout is of no use
  /// @param bytes_of_acl of each node that is created
  session(monitor& own, connector& opener, std::chrono::milliseconds timeout, session_listener& listener,
          metrics& counts, duration least_timeout = {}, std::size_t bytes_of_acl = 0);

  void open();
  /// Closes the session; `on_closed` runs when it is closed. A session that is still being opened is not waited for, as
  /// name servers may not answer: it is closed as soon as it has been opened.
  void close(std::function<void()> on_closed);

  bool connected() const noexcept { return connected_; }
  bool ever_connected() const noexcept { return ever_connected_; }
  /// Counts the sessions of this client.
  std::uint64_t epoch() const noexcept { return epoch_; }
  /// Of the request that was answered last with `too_large`: its size, and how many connections have shown that it fails.
  std::size_t refused_bytes() const noexcept { return refused_bytes_; }
  unsigned refused_after() const noexcept { return refused_after_; }
  /// @returns whether it fails for its size; otherwise the servers take as much, and it ends each connection all the same.
  bool refused_for_size() const noexcept { return limit_.fails_for_size(refused_bytes_); }
  /// @returns whether large requests wait until the servers have been asked whether they take as much.
  bool asks_for_limit() const noexcept { return limit_.asked() != 0; }
  /// @returns how large a request should be at most that can be divided.
  std::size_t most_bytes() const noexcept { return limit_.most(std::size_t{256} * 1024); }
  /// Of the current session; all zero when there is none.
  const session_info& info() const noexcept { return info_; }
  /// @returns when the current session was asked for, at the earliest.
  time_point opened_at() const noexcept { return opened_at_; }
  /// @returns whether an earlier session has seen it, or later ones: then nothing that this session has made has it.
  bool is_older(std::int64_t zxid) const noexcept { return zxid < newest_before_; }
  bool idle() const noexcept { return queue_.empty(); }
  /// @returns how many requests have no answer yet, those included that wait to be sent.
  std::size_t unanswered() const noexcept { return queue_.under_way() + queue_.waiting(); }
  /// @returns the paths of the watches that are not forgotten.
  std::vector<std::string> watched_paths() const { return watches_.paths(); }
  /// @returns whether that path may be watched: the list of watches, which is sent at each connection, must stay below
  /// what servers take (`jute.maxbuffer`).
  bool may_watch(const std::string& path, watch_room room = watch_room::own) const noexcept {
    const auto most = std::max(least_watched, limit_.most(most_watched)) / 2 * static_cast<std::size_t>(room);
    return watches_.bytes() + watch_table::bytes_of(path) <= most || watches_.contains(path);
  }
  /// @returns whether a request has been answered since the last connect. By then every event of a watched node during
  /// the outage has been told; until then they are told in no order.
  bool answered() const noexcept { return answered_; }
  /// @returns a time at which a server still answered: that of the connection, or when the newest request that has been
  /// answered was sent.
  time_point heard_at() const noexcept { return heard_at_; }
  /// Why the last attempt to open a session failed; empty when it did not.
  std::string failure() const;
  /// @returns whether servers have accepted several connections and closed them, since there was one.
  bool is_turned_away() const;
  /// @returns whether a server has accepted a connection, and not answered yet.
  bool is_ignored() const;

  /// Sends a request, or queues it while too many of its urgency are in flight. Those of one urgency are sent in their
  /// order. Never calls back before it returns; but another request, that has become stale, may be told so within.
  /// @pre connected()
  void submit(request what, reply_callback on_reply, urgency how = urgency::call);

  /// As `submit`, for a request with `watch`. `on_watch` runs at most once: when what was asked for, the
  /// children or the data, changes. It is forgotten with the session, and when the answer is not ok.
  watch_id submit(request what, reply_callback on_reply, watch_table::callback on_watch, urgency how = urgency::call);

  /// The callback will not run any more. The path goes on to count in `may_watch`.
  void forget(watch_id& watch) { watches_.forget(watch); }

 private:
  /// From so many on the session, not a server, is suspected.
  static constexpr unsigned enough_refusals = 3;
  /// Bytes of paths: as the servers take 1 MiB, and at least, however little they take.
  static constexpr std::size_t most_watched = std::size_t{512} * 1024;
  static constexpr std::size_t least_watched = 4096;
  /// Bytes of lists under way, as long as the last one: a proof comes behind them.
  static constexpr std::size_t most_listed = std::size_t{2} * 1024 * 1024;

  struct pending {
    reply_callback on_reply;  // empty: answered
    operation kind{};
    time_point sent;
    watch_id watch;
    urgency how{};
    request_shape shape;
    reply_code unsent = reply_code::ok;  // another: it was not sent, and is answered so in its turn
  };
  struct waiting {
    request what;
    reply_callback on_reply;
    watch_id watch;
    urgency how{};
    request_shape shape{};

    bool is_stale() const { return on_reply.is_stale(); }
  };

  void on_opening(std::uint64_t epoch) override;
  void on_opened(std::uint64_t epoch, std::unique_ptr<znodes> opened, std::string failure) override;
  void on_moved(std::uint64_t epoch, const std::string& servers) override;
  void on_connection(std::uint64_t epoch, connection_state state, session_info info) override;
  void on_reply(std::uint64_t epoch, std::uint64_t id, reply answer) override;
  void on_watch(std::uint64_t epoch, watch_event event, std::string_view path) override;

  void become_connected(session_info info);
  void become_disconnected();
  void look_for_moved_hosts();
  void use_servers(const std::string& servers);
  bool stays_without_servers() const;
  void look_into_refusals();
  void stop_looking_into_refusals();
  void heard_something();
  std::uint64_t turned_away() const;
  bool is_unanswered() const;
  bool is_of_other_history(operation kind, const reply& with);
  void end(session_end why, std::vector<std::string> without = {});
  void begin_elsewhere(session_info refused, bool is_new);
  void leave_foreign(std::string server);
  void begin_with_longer_timeout(std::chrono::milliseconds given);
  void say_timeout() const;
  void give_up();
  void open_later();
  void send_in_turn(waiting next);
  void send(waiting next);
  void send_waiting();
  bool is_held_back(const waiting& next);
  void be_throttled();
  bool is_slow() const;
  reply_code refusal_of(const waiting& next);
  void say_refused(const waiting& which, unsigned connections);
  void blame_for_end(const pending& request);
  void ask_for_limit();
  void on_limit_told(std::size_t bytes, size_question::verdict what);
  void say_limit(std::size_t before) const;
  void not_sent(waiting& what, reply_code code);
  void answer(pending& request, reply& with);
  void answer_refused(std::uint64_t before);
  void answer_after_end(pending& request, session_end why);
  pending take(std::uint64_t id);
  void answer_everything(reply_code code);
  void watch_over_requests();

  monitor& monitor_;
  connector& connector_;
  session_listener& listener_;
  metrics& counts_;
  duration wanted_timeout_;
  duration least_timeout_;
  std::size_t bytes_of_acl_;

  std::uint64_t epoch_ = 0;
  std::unique_ptr<znodes> handle_;
  session_info info_;
  time_point opened_at_{};
  time_point heard_at_{};
  bool connected_ = false;
  bool ever_connected_ = false;
  bool answered_ = false;
  int opening_ = 0;                              // how many `on_opened` are still to come
  std::optional<session_info> connected_early_;  // before we have heard that it was opened
  std::string moved_early_;                      // servers that are to be used then
  std::vector<std::string> without_;             // servers that refuse the wanted session timeout, or are none
  std::chrono::milliseconds given_{};            // the longest timeout that those grant
  std::vector<std::string> foreign_;             // those that are none, and were logged since there was a session
  silence silence_;
  request_limit limit_;
  size_question size_question_;
  request_shape largest_lost_;  // of the requests without an answer, at the end of a connection
  std::size_t refused_bytes_ = 0;
  unsigned refused_after_ = 0;
  std::pair<request_shape, unsigned> said_{};  // in the log: which is refused, after how many connections
  timer_id held_timer_;
  bool watched_ = false;  // the C client may have watches, to be set again at the next connection
  bool closing_ = false;
  std::string failure_;
  unsigned failures_ = 0;
  std::minstd_rand jitter_;
  timer_id open_timer_;
  time_point without_connection_since_{};
  time_point moved_at_{};  // when the handle was given other servers last, since it was connected
  timer_id move_timer_;
  second_handle second_;
  timer_id refusal_timer_;
  std::uint64_t turned_away_before_ = 0;  // the handle, before the connection was lost
  std::int64_t newest_ = 0;               // zxid that any answer has named,
  std::int64_t newest_before_ = 0;        // in the sessions before this one

  std::deque<pending> pending_;  // the id of the first is first_id_; answers come in order
  std::uint64_t first_id_ = 1;
  request_queue<waiting> queue_;
  std::deque<waiting> stale_;      // withdrawn, and to be told so
  bool sending_ = false;           // `send_waiting` is under way
  std::size_t lists_ = 0;          // of those in flight
  std::size_t bytes_of_list_ = 0;  // that was answered last
  duration throttle_{};            // for how long nothing but proofs was sent last, since a server throttles requests,
  time_point throttled_until_{};   // and until when
  timer_id overseer_;
  time_point last_nudge_{};

  watch_table watches_;
};

}  // namespace latchkey::detail
