// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A client whose connection does what the test says, step by step.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridge/znodes.hpp"
#include "session/client_core.hpp"

namespace latchkey::testing {

/// Opens, connects and answers only when it is told to.
class scripted_connector final : public detail::connector {
 public:
  struct opening {
    std::uint64_t epoch;
    detail::connector_listener* listener;
    std::vector<std::string> without;
  };
  struct sent_request {
    std::uint64_t id;
    detail::request what;
  };

  void open(std::uint64_t epoch, detail::connector_listener& listener,
            const std::vector<std::string>& without = {}) override {
    auto& all = epoch == detail::side_handle::epoch ? side_openings : openings;
    all.push_back({epoch, &listener, without});
  }
  void resume(const detail::former_session&, detail::connector_listener& listener) override {
    side_openings.push_back({detail::side_handle::epoch, &listener, {}});
  }
  void look_for_moved_hosts() override { ++look_ups; }
  void retire(std::unique_ptr<detail::znodes> session, std::function<void()> on_closed) override {
    session.reset();
    closings.push_back(std::move(on_closed));
  }

  // What befalls the session that was opened last:

  void opens() {
    of_last().on_opening(epoch());
    of_last().on_opened(epoch(), std::make_unique<handle>(*this), {});
  }
  void fails_to_open(std::string why) { of_last().on_opened(epoch(), nullptr, std::move(why)); }
  void connects(detail::session_info info) {
    of_last().on_connection(epoch(), detail::connection_state::connected, std::move(info));
  }
  void moves(const std::string& to) { of_last().on_moved(epoch(), to); }
  void expires() { of_last().on_connection(epoch(), detail::connection_state::expired, {}); }
  void disconnects() { of_last().on_connection(epoch(), detail::connection_state::disconnected, {}); }
  void answers(std::uint64_t id, detail::reply_code code = detail::reply_code::ok) {
    detail::reply with;
    with.code = code;
    answers(id, std::move(with));
  }
  void answers(std::uint64_t id, detail::reply with) { of_last().on_reply(epoch(), id, std::move(with)); }
  void answers_everything() {
    for (const auto& each : std::exchange(sent, {})) answers(each.id);
  }
  void tells(detail::watch_event event, std::string_view path) { of_last().on_watch(epoch(), event, path); }

  // What befalls the handle that was opened last beside it:

  void opens_beside() {
    side_openings.back().listener->on_opened(detail::side_handle::epoch, std::make_unique<handle>(*this), {});
  }
  void connects_beside(detail::session_info info) {
    side_openings.back().listener->on_connection(detail::side_handle::epoch, detail::connection_state::connected,
                                                 std::move(info));
  }

  std::vector<opening> openings;
  std::vector<opening> side_openings;
  std::vector<std::function<void()>> closings;
  std::vector<sent_request> sent;  // in all sessions
  int look_ups = 0;
  std::string servers;  // that the newest handle was told to use, and has not taken

 private:
  class handle final : public detail::znodes {
   public:
    explicit handle(scripted_connector& of) noexcept : of_{of} {}
    bool send(std::uint64_t id, detail::request what) override {
      of_.sent.push_back({id, std::move(what)});
      return true;
    }
    void use_servers(std::string list) override { of_.servers = std::move(list); }

   private:
    scripted_connector& of_;
  };

  std::uint64_t epoch() const { return openings.back().epoch; }
  detail::connector_listener& of_last() const { return *openings.back().listener; }
};

/// A client on such a connector, at a time that moves when it is told to.
struct scripted_client {
  /// Sends nothing of its own accord.
  static client_options silent() {
    client_options options;
    options.session_timeout = std::chrono::seconds{4};
    options.keep_lease_ready = false;
    return options;
  }
  /// Their tick allows of no session that is shorter than 3.9 s.
  static client_options on_slow_servers() {
    auto options = silent();
    options.server_tick = std::chrono::milliseconds{2900};
    return options;
  }
  explicit scripted_client(client_options options = silent()) {
    auto made = std::make_unique<scripted_connector>();
    opener = made.get();
    core = std::make_shared<detail::client_core>(std::move(options), detail::connect_string{{"scripted:2181"}, ""}, own,
                                                 std::move(made));
    own->run([this] { core->open(); });
  }
  ~scripted_client() { core->stop_threads(); }
  scripted_client(const scripted_client&) = delete;
  scripted_client& operator=(const scripted_client&) = delete;

  void advance(detail::duration time) {
    const auto end = now + time;
    for (auto next = own->next_timer(); next && *next <= end; next = own->next_timer()) {
      now = std::max(now, *next);
      own->run_due();
    }
    now = end;
  }

  /// A request of whoever uses the session.
  void ask(detail::request what = {.kind = detail::operation::get, .path = "/a"}) {
    own->run([&] { core->session().submit(std::move(what), [](detail::reply&) {}); });
  }
  void watch(std::string path) {
    own->run([&] {
      core->session().submit(
          {.kind = detail::operation::get, .path = std::move(path)}, [](detail::reply&) {}, [](detail::watch_event) {});
    });
  }
  std::optional<detail::failure> failed() {
    return own->run([this] { return core->failed(); });
  }
  bool connected() {
    return own->run([this] { return core->session().connected(); });
  }

  detail::time_point now{std::chrono::hours{1}};
  const std::shared_ptr<detail::monitor> own = std::make_shared<detail::monitor>([this] { return now; });
  scripted_connector* opener = nullptr;
  std::shared_ptr<detail::client_core> core;
};

}  // namespace latchkey::testing
