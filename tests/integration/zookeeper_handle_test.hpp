// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the tests of the handle share: a server, requests, and one session with what is heard of it.

#include "bridge/zookeeper_connector.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../announced_ensemble.hpp"

namespace latchkey::handle_tests {

using namespace std::chrono_literals;
using namespace latchkey::detail;
namespace zk = latchkey::testing;

inline constexpr auto limit = 60s;  // of what takes milliseconds on an idle machine

inline zk::ensemble& ensemble() {
  static zk::announced_ensemble instance{{.servers = 1, .container_check_interval = 200ms}};
  return instance;
}

inline connector_options options_for(const std::string& hosts = ensemble().connect_string()) {
  connector_options options;
  options.hosts = {hosts};
  options.session_timeout = 4s;
  return options;
}

inline request create(std::string path, create_mode mode = create_mode::persistent) {
  request what;
  what.kind = operation::create;
  what.path = std::move(path);
  what.data = "data";
  what.mode = mode;
  return what;
}

inline request on_path(operation kind, std::string path, bool watch = false) {
  request what;
  what.kind = kind;
  what.path = std::move(path);
  what.watch = watch;
  return what;
}

inline request check(std::vector<std::string> paths) {
  return {.kind = operation::transact, .steps = steps_for(step::operation::check, std::move(paths))};
}

inline request set(std::string path, std::string data) {
  request what;
  what.kind = operation::set;
  what.path = std::move(path);
  what.data = std::move(data);
  return what;
}

inline request replace(std::string old, std::string path, std::string data = "data") {
  return {.kind = operation::transact,
          .steps = {{.what = step::operation::create,
                     .path = std::move(path),
                     .data = std::move(data),
                     .mode = create_mode::ephemeral},
                    {.what = step::operation::remove, .path = std::move(old)}}};
}

inline request requeue(std::string old, std::string prefix) {
  request what = replace(std::move(old), std::move(prefix));
  what.steps.front().mode = create_mode::ephemeral_sequential;
  return what;
}

/// One session, and what is heard of it. Sends under the lock that the listener takes, as a client does.
class one_session final : connector_listener {
 public:
  explicit one_session(connector_options options = options_for()) : connector_{std::move(options)} {
    connector_.open(7, *this);
  }
  ~one_session() { close(); }

  std::uint64_t send(request what) {
    const std::lock_guard lock{mutex_};
    REQUIRE(handle_);
    const auto id = ++last_id_;
    return handle_->send(id, std::move(what)) ? id : 0;
  }

  reply ask(request what) { return answer_to(send(std::move(what))); }

  reply answer_to(std::uint64_t id) {
    wait([&] { return replies_.contains(id); });
    const std::lock_guard lock{mutex_};
    return replies_.at(id);
  }

  template <class Predicate>
  void wait(Predicate&& until) {
    std::unique_lock lock{mutex_};
    REQUIRE(heard_.wait_for(lock, limit, until));
  }

  void wait_for_connection() { wait_for(connection_state::connected); }
  void wait_for(connection_state state) {
    wait([&] { return opened_ && !states_.empty() && states_.back() == state; });
  }
  void wait_for_watch(watch_event event, const std::string& path) {
    wait([&] { return std::find(watches_.begin(), watches_.end(), std::pair{event, path}) != watches_.end(); });
  }

  void close() {
    wait([&] { return opened_; });
    {
      const std::lock_guard lock{mutex_};
      retire();
    }
    wait([&] { return closed_; });
  }

  /// With the lock held, as in `on_each_reply`.
  void retire() {
    if (!handle_) {
      closed_ = closed_ || !retired_;  // there never was a session
      return;
    }
    retired_ = true;
    connector_.retire(std::move(handle_), [this] {
      const std::lock_guard lock{mutex_};
      closed_ = true;
      heard_.notify_all();
    });
  }

  /// Before the first request: runs after each reply, with the lock held, on the thread of the C client.
  void on_each_reply(std::function<void()> what) { on_each_reply_ = std::move(what); }

  // Read after waiting.
  session_info info_;
  std::vector<connection_state> states_;
  std::vector<std::uint64_t> order_;  // of replies, by id, and watches: 0
  std::map<std::uint64_t, reply> replies_;
  std::vector<std::pair<watch_event, std::string>> watches_;
  std::string failure_;
  bool opened_ = false;
  bool closed_ = false;

 private:
  void on_opened(std::uint64_t epoch, std::unique_ptr<znodes> session, std::string failure) override {
    const std::lock_guard lock{mutex_};
    CHECK(epoch == 7);
    opened_ = true;
    handle_ = std::move(session);
    failure_ = std::move(failure);
    heard_.notify_all();
  }
  void on_connection(std::uint64_t epoch, connection_state state, session_info info) override {
    const std::lock_guard lock{mutex_};
    CHECK(epoch == 7);
    CHECK_FALSE(closed_);
    states_.push_back(state);
    if (state == connection_state::connected) info_ = info;
    heard_.notify_all();
  }
  void on_reply(std::uint64_t epoch, std::uint64_t id, reply answer) override {
    const std::lock_guard lock{mutex_};
    CHECK(epoch == 7);
    CHECK_FALSE(closed_);
    CHECK(replies_.emplace(id, std::move(answer)).second);
    order_.push_back(id);
    if (on_each_reply_) on_each_reply_();
    heard_.notify_all();
  }
  void on_watch(std::uint64_t epoch, watch_event event, std::string_view path) override {
    const std::lock_guard lock{mutex_};
    CHECK(epoch == 7);
    CHECK_FALSE(closed_);
    watches_.emplace_back(event, std::string{path});
    order_.push_back(0);
    heard_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable heard_;
  std::unique_ptr<znodes> handle_;
  std::uint64_t last_id_ = 0;
  bool retired_ = false;
  std::function<void()> on_each_reply_;
  zookeeper_connector connector_;  // the last member: it waits for its threads first
};

}  // namespace latchkey::handle_tests
