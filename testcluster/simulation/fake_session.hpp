// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One session with its connections: the C client's side, the wire, and what its server does with its requests.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/znodes.hpp"
#include "simulation/fake_server.hpp"

namespace latchkey::testing {

class fake_ensemble;

/// What a test can have happen to the next request of a kind.
enum class trap {
  lost_before_effect,  ///< the connection is lost, and the request with it
  lost_after_effect,   ///< it is committed; the connection is lost instead of the reply
  lost_then_late,  ///< the connection is lost; the request is committed a little later, or when the next connection is
                   ///< heard of
  stuck,           ///< it waits for a `sync` (ZOOKEEPER-4537)
};

/// What the sessions of one connector have in common.
struct fake_client {
  process_id process = process_id::none;
  duration timeout{};
  bool cut = false;  ///< nothing passes
  std::vector<std::pair<request_kind, trap>> traps;
  std::array<std::uint64_t, request_kind::count> sent{};  ///< requests by their kinds
};

/// Lives as long as the ensemble, so that events may name it. All calls to the listener come from steps of the
/// simulation.
class fake_session final : public server_side {
 public:
  fake_session(fake_ensemble& ensemble, std::shared_ptr<fake_client> client, std::uint64_t epoch,
               detail::connector_listener& listener);

  // Of the system under test:

  bool send(std::uint64_t id, detail::request what);
  void close(std::function<void()> on_closed);
  /// The listener is gone; without `close` the session is left to expire.
  void abandon();
  /// It is one that another process has left. Before `start`.
  void resume(const detail::former_session& left);
  /// The handle is there: begins to connect.
  void start();

  // Faults:

  /// The connection breaks; both sides notice.
  void lose_connection();
  /// Nothing passes for so long. The client notices after 2/3 of the session timeout; what is shorter is only a delay.
  void open_hole(duration length);
  void close_hole() noexcept { hole_until_ = {}; }
  /// The client is not cut off any more: what has waited for that happens now.
  void on_healed();
  /// @returns until when what has been sent may be delayed by a hole, closed or not.
  time_point delayed_until() const noexcept { return delayed_until_; }

  // Observation:

  const ensemble_session* session() const noexcept override { return session_; }
  const fake_client& client() const noexcept { return *client_; }
  bool connected() const noexcept { return connected_; }
  bool over() const noexcept { return over_ || dead_; }
  const fake_server* server() const noexcept { return server_; }
  /// @returns how often a server has closed a connection before it let the session in.
  std::uint64_t turned_away() const noexcept { return turned_away_; }
  std::size_t in_flight() const noexcept { return packets_.size() + unanswered_.size(); }
  /// Watches that the C client remembers.
  std::size_t watches() const noexcept { return data_watches_.size() + child_watches_.size(); }

 private:
  enum class packet_kind : std::uint8_t { request, set_watches, close };

  /// From the client to the server, in the order they were sent; front: the oldest without an answer.
  struct packet {
    packet_kind kind{};
    std::uint64_t id = 0;
    detail::request what;
    time_point arrived{};  // at the server
    bool decided = false;  // by the leader; of a sync: and the server has heard
    write_result outcome;

    bool to_leader() const noexcept {
      using enum detail::operation;
      if (kind != packet_kind::request) return kind == packet_kind::close;
      return what.kind != children && what.kind != get;
    }
    bool is_sync() const noexcept { return kind == packet_kind::request && what.kind == detail::operation::sync; }
    bool is_write() const noexcept { return to_leader() && kind == packet_kind::request && !is_sync(); }
  };

  /// From the server to the client.
  struct message {
    enum class kind : std::uint8_t { reply, event, pong } what{};
    detail::reply answer;
    std::int64_t zxid = 0;
    detail::watch_event event{};
    path_id path = 0;
  };

  /// What becomes of the requests that are on their way.
  enum class loss {
    as_it_comes,     ///< the first of them may reach the leader, later
    before_arrival,  ///< the next to arrive never does
    late,            ///< the next to arrive reaches the leader later
  };

  // The client's side (fake_session.cpp)
  void on_delivery(std::uint64_t connection);
  void deliver_reply(message& arrived);
  void deliver_event(const message& arrived);
  void answer(const packet& asked, detail::reply_code code);
  void check_idle(std::uint64_t connection);
  void send_ping();
  void put_on_wire();
  void finish_close();
  bool stopped() const;
  time_point resumes_at() const;

  // Connecting and losing connections (fake_session_link.cpp)
  void connect_later(duration wait);
  void attempt(std::uint64_t connection);
  void establish(std::uint64_t connection, fake_server& server);
  void attempt_failed();
  void agree(fake_server& server);
  void on_linked(std::uint64_t connection);
  void become_over(detail::connection_state why);
  void on_over(detail::connection_state why);
  void lose(loss how);
  void hand_over_late(loss how);
  void tell_of_gap();
  void tell(detail::connection_state state, detail::session_info info);
  bool in_hole() const noexcept;
  void when_passable(time_point hole_ends, simulation::action what);

  // At the server (fake_session_server.cpp)
  void on_progress() override;
  void on_event(detail::watch_event event, path_id path) override;
  void on_server_closes() override;
  void on_arrival(std::uint64_t connection);
  void demand_authentication();
  std::size_t size_of(const packet& sent) const;
  void on_ping(std::uint64_t connection);
  void forward();
  void decide(packet& asked);
  void on_synced(std::uint64_t connection);
  void serve();
  void serve_write(packet& asked);
  detail::reply written(packet& asked) const;
  detail::reply read(const packet& asked);
  void set_watches();
  void post(message what, duration extra = {});
  bool trapped(const detail::request& asked, trap what);

  void trace(std::string_view what, const std::string& which) const;
  simulation& time() noexcept;
  const fault_plan& plan() const noexcept;

  fake_ensemble& ensemble_;
  const std::shared_ptr<fake_client> client_;
  const std::uint64_t epoch_;
  detail::connector_listener* listener_;

  bool connected_ = false;  // as the client has been told
  bool over_ = false;
  bool dead_ = false;  // the listener is not to be called
  bool closing_ = false;
  std::function<void()> on_closed_;
  std::vector<path_id> data_watches_;
  std::vector<path_id> child_watches_;
  std::int64_t last_zxid_ = 0;  // seen by the client
  time_point last_sent_;
  time_point last_received_;
  std::deque<packet> unanswered_;  // by a connection that is lost
  bool gap_to_tell_ = false;

  ensemble_session* session_ = nullptr;
  bool is_unknown_ = false;  // there is none with that id and password
  duration timeout_{};       // the newest that the client has heard of; zero: it knows of no session
  duration agreed_{};        // what the server of this connection has agreed to,
  time_point agreed_at_{};
  fake_server* server_ = nullptr;
  std::uint64_t turned_away_ = 0;
  std::uint64_t connection_ = 0;  // counts; an event of an earlier one is void
  time_point hole_until_{};
  std::vector<simulation::action> when_healed_;
  time_point delayed_until_{};
  time_point last_arrival_{};
  time_point last_forward_{};
  time_point last_delivery_{};
  std::deque<packet> packets_;
  std::size_t arrived_ = 0;      // at the server
  std::size_t considered_ = 0;   // of those, seen by the leader or not meant for it
  std::size_t forwardable_ = 0;  // packets that have come to the leader's door
  std::size_t served_ = 0;       // their answers are on the wire
  bool stuck_ = false;
  bool turned_out_ = false;  // the server reads no more, and closes the connection
  bool heard_of_ = false;    // the leader has had a packet of this connection
  std::deque<message> inbox_;
};

}  // namespace latchkey::testing
