// SPDX-License-Identifier: Apache-2.0
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
#include <utility>
#include <vector>

#include <latchkey/testing/ensemble.hpp>

namespace {

using namespace std::chrono_literals;
using namespace latchkey::detail;
namespace zk = latchkey::testing;

constexpr auto limit = 60s;  // of what takes milliseconds on an idle machine

zk::ensemble& ensemble() {
  static zk::ensemble instance{{.servers = 1, .container_check_interval = 200ms}};
  return instance;
}

connector_options options_for(const std::string& hosts = ensemble().connect_string()) {
  connector_options options;
  options.hosts = {hosts};
  options.session_timeout = 4s;
  return options;
}

request create(std::string path, create_mode mode = create_mode::persistent) {
  request what;
  what.kind = operation::create;
  what.path = std::move(path);
  what.data = "data";
  what.mode = mode;
  return what;
}

request on_path(operation kind, std::string path, bool watch = false) {
  request what;
  what.kind = kind;
  what.path = std::move(path);
  what.watch = watch;
  return what;
}

request check(std::vector<std::string> paths) {
  request what;
  what.kind = operation::check;
  what.paths = std::move(paths);
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

  void wait_until_connected() { wait_for(connection_state::connected); }
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

}  // namespace

TEST_SUITE_BEGIN("zookeeper handle");

TEST_CASE("a session connects and tells its id and the negotiated timeout") {
  one_session session;
  session.wait_until_connected();
  CHECK(session.info_.id != 0);
  CHECK(session.info_.timeout == 4s);
  CHECK(session.states_.front() == connection_state::connected);
}

TEST_CASE("a create and a list sent back to back are answered in order, and the list shows the node") {
  one_session session;
  session.wait_until_connected();
  CHECK(session.ask(create("/pipelined")).code == reply_code::ok);
  const auto created = session.send(create("/pipelined/ticket-", create_mode::ephemeral_sequential));
  const auto listed = session.send(on_path(operation::children, "/pipelined"));
  const auto children = session.answer_to(listed).children;
  const auto node = session.answer_to(created);
  CHECK(node.path == "/pipelined/ticket-0000000000");
  CHECK(node.stat.czxid > 0);
  CHECK(node.stat.ephemeral_owner == session.info_.id);
  CHECK(children == std::vector<std::string>{"ticket-0000000000"});
  CHECK(session.order_ == std::vector{created - 1, created, listed});
}

TEST_CASE("what the server refuses is told apart") {
  one_session session;
  session.wait_until_connected();
  session.ask(create("/told"));
  const auto ephemeral = session.ask(create("/told/e-", create_mode::ephemeral_sequential)).path;
  CHECK(session.ask(create("/told")).code == reply_code::node_exists);
  CHECK(session.ask(create("/told/missing/node")).code == reply_code::no_node);
  CHECK(session.ask(create(ephemeral + "/child")).code == reply_code::no_children_for_ephemerals);
  CHECK(session.ask(on_path(operation::remove, "/told")).code == reply_code::not_empty);
  CHECK(session.ask(on_path(operation::remove, "/told/missing")).code == reply_code::no_node);
  CHECK(session.ask(on_path(operation::get, "/told/missing")).code == reply_code::no_node);
  CHECK(session.ask(on_path(operation::sync, "/told")).code == reply_code::ok);
  CHECK(session.ask(on_path(operation::remove, ephemeral)).code == reply_code::ok);
}

TEST_CASE("a request with a path that is none is not sent") {
  one_session session;
  session.wait_until_connected();
  CHECK(session.send(on_path(operation::get, "no/slash")) == 0);
  CHECK(session.send(check({})) == 0);
  CHECK(session.send(check({"/", "/trailing/", "relative"})) == 0);
}

TEST_CASE("a get reads data and owner, and its watch tells of the deletion") {
  one_session session;
  session.wait_until_connected();
  session.ask(create("/watched"));
  const auto read = session.ask(on_path(operation::get, "/watched", true));
  CHECK(read.data == "data");
  CHECK(read.stat.czxid > 0);
  CHECK(read.stat.ephemeral_owner == 0);
  ensemble().remove("/watched");
  session.wait_for_watch(watch_event::deleted, "/watched");
}

TEST_CASE("watches tell of changed data and of changed children") {
  one_session session;
  session.wait_until_connected();
  session.ask(create("/changing"));
  session.ask(on_path(operation::get, "/changing", true));
  session.ask(on_path(operation::children, "/changing", true));
  ensemble().set("/changing", "new");
  session.wait_for_watch(watch_event::changed, "/changing");
  ensemble().create("/changing/child");
  session.wait_for_watch(watch_event::children_changed, "/changing");
}

TEST_CASE("a get of a missing node leaves no watch") {
  one_session session;
  session.wait_until_connected();
  CHECK(session.ask(on_path(operation::get, "/missing", true)).code == reply_code::no_node);
  ensemble().create("/missing");
  session.ask(on_path(operation::sync, "/"));
  CHECK(session.watches_.empty());
}

TEST_CASE("a watch speaks before the answer to a later request") {
  one_session session;
  session.wait_until_connected();
  session.ask(create("/early"));
  session.ask(on_path(operation::get, "/early", true));
  const auto removed = session.send(on_path(operation::remove, "/early"));
  const auto listed = session.send(on_path(operation::children, "/"));
  session.answer_to(listed);
  CHECK(session.order_ == std::vector<std::uint64_t>{1, 2, 0, removed, listed});
}

TEST_CASE("a container is made, and goes when its last child has gone") {
  one_session session;
  session.wait_until_connected();
  const auto made = session.ask(create("/container", create_mode::container));
  CHECK(made.code == reply_code::ok);
  CHECK(made.path == "/container");
  CHECK(made.stat.czxid > 0);
  CHECK(made.stat.ephemeral_owner == 0);
  session.ask(create("/container/child"));
  session.ask(on_path(operation::get, "/container", true));
  session.ask(on_path(operation::remove, "/container/child"));
  session.wait_for_watch(watch_event::deleted, "/container");
}

TEST_CASE("a check of many nodes says which one is missing") {
  one_session session;
  session.wait_until_connected();
  for (const auto* path : {"/checked", "/checked/a", "/checked/b", "/checked/c"}) session.ask(create(path));
  const auto good = session.ask(check({"/checked/a", "/checked/b", "/checked/c"}));
  CHECK(good.code == reply_code::ok);
  CHECK(good.results == std::vector(3, reply_code::ok));
  const auto bad = session.ask(check({"/checked/a", "/checked/none", "/checked/c"}));
  CHECK(bad.code == reply_code::no_node);
  CHECK(bad.results == std::vector{reply_code::ok, reply_code::no_node, reply_code::not_sent});
}

TEST_CASE("credentials let in whom the ACL names, and nobody else") {
  auto options = options_for();
  options.authentication = {{"digest", "owner:secret"}};
  options.acl = {{"auth", "", "cdrwa"}};
  one_session owner{options};
  owner.wait_until_connected();
  CHECK(owner.ask(create("/private")).code == reply_code::ok);
  CHECK(owner.ask(create("/private/node")).code == reply_code::ok);
  options.authentication = {{"digest", "owner:wrong"}};
  one_session other{options};
  other.wait_until_connected();
  CHECK(other.ask(on_path(operation::get, "/private/node")).code == reply_code::no_permission);
  CHECK(other.ask(create("/private/mine")).code == reply_code::no_permission);
  CHECK(owner.ask(on_path(operation::get, "/private/node")).code == reply_code::ok);
}

TEST_CASE("an authentication scheme that the server does not know ends the session") {
  auto options = options_for();
  options.authentication = {{"digest", "owner:secret"}, {"no-such-scheme", "x"}};
  one_session session{options};
  session.wait_for(connection_state::auth_failed);
  CHECK(session.send(create("/never")) == 0);
  CHECK(session.send(check({"/a", "/b", "/c"})) == 0);  // zoo_amulti would crash
}

TEST_CASE("a connection lost and regained is told, and the session stays") {
  one_session session;
  session.wait_until_connected();
  const auto id = session.info_.id;
  const auto path = session.ask(create("/survivor-", create_mode::ephemeral_sequential)).path;
  ensemble().kill(0);
  session.wait_for(connection_state::disconnected);
  CHECK(session.send(check({"/a", "/b"})) == 0);
  const auto lost = session.ask(create("/lost"));
  CHECK(may_have_happened(lost.code));
  ensemble().start(0);
  session.wait_until_connected();
  CHECK(session.info_.id == id);
  CHECK(session.ask(on_path(operation::get, path)).stat.ephemeral_owner == id);
}

TEST_CASE("an expired session is told, and takes no more requests") {
  one_session session;
  session.wait_until_connected();
  CHECK(ensemble().expire(session.info_.id));
  session.wait_for(connection_state::expired);
  CHECK(session.send(create("/never")) == 0);
  CHECK(session.send(check({"/a", "/b", "/c"})) == 0);
}

TEST_CASE("requests in flight when the session expires leave nothing behind") {
  one_session session;
  session.wait_until_connected();
  ensemble().pause(0);
  for (int i = 0; i < 1000; ++i) session.send(on_path(operation::get, "/", true));
  for (int i = 0; i < 1000; ++i) session.send(check({"/", "/"}));
  session.wait_for(connection_state::disconnected);
  ensemble().resume(0);
  ensemble().expire(session.info_.id);
  session.wait_for(connection_state::expired);
}

TEST_CASE("thousands of requests in flight when the session is closed leave nothing behind") {
  one_session session;
  session.wait_until_connected();
  ensemble().pause(0);
  for (int i = 0; i < 2000; ++i) session.send(on_path(operation::get, "/", true));
  for (int i = 0; i < 2000; ++i) session.send(check({"/", "/"}));
  session.close();
  MESSAGE("answered when closed: " << session.order_.size() << " of 4000");
  ensemble().resume(0);
  ensemble().wait_for_quorum(10s);
}

TEST_CASE("closing sends what was sent before, and ends the session at once") {
  one_session other;
  other.wait_until_connected();
  other.ask(create("/closing"));
  {
    one_session session;
    session.wait_until_connected();
    session.ask(create("/closing/e-", create_mode::ephemeral_sequential));
    session.send(create("/closing/last"));
  }
  other.ask(on_path(operation::sync, "/closing"));
  CHECK(other.ask(on_path(operation::children, "/closing")).children == std::vector<std::string>{"last"});
}

TEST_CASE("a session can be retired from within its own callback") {
  one_session session;
  session.on_each_reply([&] { session.retire(); });
  session.wait_until_connected();
  session.send(on_path(operation::get, "/"));
  session.wait([&] { return session.closed_; });
}

TEST_CASE("a session that has never connected can be closed") {
  one_session session{options_for("127.0.0.1:1")};
  session.wait([&] { return session.opened_; });
  CHECK(session.failure_.empty());
  CHECK(session.states_.empty());
}

TEST_CASE("credentials are not lost when the first attempts to connect fail") {
  ensemble().kill(0);
  auto options = options_for();
  options.authentication = {{"digest", "patient:secret"}};
  options.acl = {{"auth", "", "cdrwa"}};
  one_session session{options};
  session.wait([&] { return session.opened_; });
  ensemble().start(0);
  session.wait_until_connected();
  CHECK(session.ask(create("/patient")).code == reply_code::ok);
}

TEST_CASE("hosts that do not resolve are told by name, and left out when another does") {
  one_session nowhere{options_for("no-such-host.invalid:2181")};
  nowhere.wait([&] { return nowhere.opened_; });
  CHECK(nowhere.failure_.find("no-such-host.invalid:2181") != std::string::npos);
  auto options = options_for();
  options.hosts.push_back("no-such-host.invalid:2181");
  one_session somewhere{options};
  somewhere.wait_until_connected();
}

TEST_CASE("options that cannot work are refused at construction") {
  auto options = options_for();
  options.acl = {{"world", "anyone", "xyz"}};
  CHECK_THROWS_AS(zookeeper_connector{options}, latchkey::error);
  options.acl = {{"world", "anyone", ""}};
  CHECK_THROWS_AS(zookeeper_connector{options}, latchkey::error);
  options.acl = {};
  options.tls = "ca.pem";
  CHECK_THROWS_AS(zookeeper_connector{options}, latchkey::error);
}

TEST_SUITE_END();
