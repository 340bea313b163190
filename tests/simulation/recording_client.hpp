// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A client that only writes down what it is told: for the tests of the fake itself.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/fake_connector.hpp"

namespace latchkey::testing {

class recording_client final : public detail::connector_listener {
 public:
  /// One line of what was heard.
  struct heard {
    enum class kind { opened, connection, reply, watch } what{};
    detail::connection_state state{};
    std::uint64_t id = 0;
    detail::watch_event event{};
    std::string path;
    time_point time;
  };

  explicit recording_client(fake_ensemble& ensemble, duration timeout = std::chrono::seconds{4})
      : process{ensemble.time().attach({})},
        connector{ensemble, std::chrono::duration_cast<std::chrono::milliseconds>(timeout), process},
        time_{ensemble.time()} {
    connector.open(++epoch, *this);
  }

  /// @returns the number of the request; 0 when it was refused.
  std::uint64_t send(detail::request what) {
    if (!handle || !handle->send(++last_id_, std::move(what))) return 0;
    return last_id_;
  }

  std::uint64_t create(std::string path, detail::create_mode mode = detail::create_mode::ephemeral_sequential) {
    return send({.kind = detail::operation::create, .path = std::move(path), .data = "data", .mode = mode});
  }
  std::uint64_t remove(std::string path) { return send({.kind = detail::operation::remove, .path = std::move(path)}); }
  std::uint64_t children(std::string path, bool watch = false) {
    return send({.kind = detail::operation::children, .path = std::move(path), .watch = watch});
  }
  std::uint64_t get(std::string path, bool watch = false) {
    return send({.kind = detail::operation::get, .path = std::move(path), .watch = watch});
  }
  std::uint64_t sync() { return send({.kind = detail::operation::sync, .path = "/"}); }
  std::uint64_t check(std::vector<std::string> paths) {
    return transact(steps_for(detail::step::operation::check, std::move(paths)));
  }

  std::uint64_t set(std::string path, std::string data) {
    return send({.kind = detail::operation::set, .path = std::move(path), .data = std::move(data)});
  }
  std::uint64_t remove_all(std::vector<std::string> paths) {
    return transact(steps_for(detail::step::operation::remove, std::move(paths)));
  }
  std::uint64_t replace(std::string old, std::string path, std::string data = "data") {
    return create_and_remove(std::move(path), std::move(data), detail::create_mode::ephemeral, std::move(old));
  }
  std::uint64_t requeue(std::string old, std::string prefix) {
    return create_and_remove(std::move(prefix), "data", detail::create_mode::ephemeral_sequential, std::move(old));
  }

  std::uint64_t transact(std::vector<detail::step> steps) {
    return send({.kind = detail::operation::transact, .steps = std::move(steps)});
  }

  /// Runs until the answer is there. @returns nothing when none came within a minute.
  std::optional<detail::reply> wait(std::uint64_t id) {
    time_.run_until([&] { return find(id) != nullptr; }, time_.now() + std::chrono::minutes{1});
    if (const auto* answer = find(id)) return *answer;
    return std::nullopt;
  }
  detail::reply_code code(std::uint64_t id) {
    const auto answer = wait(id);
    return answer ? answer->code : static_cast<detail::reply_code>(-1);
  }

  bool wait_for(detail::connection_state what) {
    const auto so_far = heard_of(what);
    return time_.run_until([&] { return heard_of(what) > so_far; }, time_.now() + std::chrono::minutes{1});
  }
  bool connect() {
    return time_.run_until([&] { return state == detail::connection_state::connected && handle; },
                           time_.now() + std::chrono::minutes{1});
  }

  std::ptrdiff_t heard_of(detail::connection_state what) const {
    return std::count_if(log.begin(), log.end(),
                         [&](const auto& each) { return each.what == heard::kind::connection && each.state == what; });
  }
  std::vector<detail::watch_event> events(std::string_view path) const {
    std::vector<detail::watch_event> found;
    for (const auto& each : log) {
      if (each.what == heard::kind::watch && each.path == path) found.push_back(each.event);
    }
    return found;
  }
  const detail::reply* find(std::uint64_t id) const {
    const auto at = std::find_if(replies.begin(), replies.end(), [&](const auto& each) { return each.first == id; });
    return at == replies.end() ? nullptr : &at->second;
  }
  fake_session& wire() { return *connector.latest(); }

  const process_id process;
  fake_connector connector;
  std::unique_ptr<detail::znodes> handle;
  std::uint64_t epoch = 0;
  std::optional<detail::connection_state> state;
  detail::session_info info;
  std::string failure;
  std::vector<heard> log;
  std::vector<std::pair<std::uint64_t, detail::reply>> replies;

 private:
  std::uint64_t create_and_remove(std::string path, std::string data, detail::create_mode mode, std::string old) {
    using of = detail::step::operation;
    return transact({{.what = of::create, .path = std::move(path), .data = std::move(data), .mode = mode},
                     {.what = of::remove, .path = std::move(old)}});
  }
  void on_opened(std::uint64_t, std::unique_ptr<detail::znodes> session, std::string why) override {
    log.push_back({.what = heard::kind::opened, .path = {}, .time = time_.now()});
    handle = std::move(session);
    failure = std::move(why);
  }
  void on_connection(std::uint64_t, detail::connection_state now, detail::session_info with) override {
    log.push_back({.what = heard::kind::connection, .state = now, .path = {}, .time = time_.now()});
    state = now;
    if (now == detail::connection_state::connected) info = with;
  }
  void on_reply(std::uint64_t, std::uint64_t id, detail::reply answer) override {
    log.push_back({.what = heard::kind::reply, .id = id, .path = {}, .time = time_.now()});
    replies.emplace_back(id, std::move(answer));
  }
  void on_watch(std::uint64_t, detail::watch_event event, std::string_view path) override {
    log.push_back({.what = heard::kind::watch, .event = event, .path = std::string{path}, .time = time_.now()});
  }

  simulation& time_;
  std::uint64_t last_id_ = 0;
};

}  // namespace latchkey::testing
