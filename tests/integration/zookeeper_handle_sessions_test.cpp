// SPDX-License-Identifier: Apache-2.0
// The session of the C client: connecting, losing the connection, the end; a transaction of several creates.
#include "zookeeper_handle_test.hpp"

namespace latchkey::handle_tests {

TEST_SUITE_BEGIN("zookeeper handle");

TEST_CASE("a session connects and tells its id and the negotiated timeout") {
  one_session session;
  session.wait_for_connection();
  CHECK(session.info_.id != 0);
  CHECK(session.info_.timeout == 4s);
  CHECK(session.states_.front() == connection_state::connected);
  CHECK(session.info_.server == ensemble().connect_string());
}

TEST_CASE("an authentication scheme that the server does not know ends the session") {
  auto options = options_for();
  options.authentication = {{"digest", "owner:secret"}, {"no-such-scheme", "x"}};
  one_session session{options};
  session.wait_for(connection_state::auth_failed);
  CHECK(session.send(create("/never")) == 0);
  CHECK(session.send(check({"/a", "/b", "/c"})) == 0);  // zoo_amulti would crash
  CHECK(session.send(replace("/a", "/b")) == 0);
}

TEST_CASE("one transaction creates a sequential node in each of several parents, or none") {
  one_session session;
  session.wait_for_connection();
  for (const auto* path : {"/each", "/each/one", "/each/two"}) session.ask(create(path));
  const auto creations = [](const std::vector<std::string>& prefixes) {
    request all{.kind = operation::transact, .steps = steps_for(step::operation::create, prefixes)};
    for (auto& each : all.steps) each.mode = create_mode::ephemeral_sequential;
    return all;
  };
  const auto done = session.ask(creations({"/each/one/a-", "/each/two/a-longer-prefix-", "/each/one/b-"}));
  REQUIRE(done.code == reply_code::ok);
  CHECK(done.paths == std::vector<std::string>{"/each/one/a-0000000000", "/each/two/a-longer-prefix-0000000000",
                                               "/each/one/b-0000000001"});
  const auto one = session.ask(on_path(operation::get, done.paths[0]));
  const auto two = session.ask(on_path(operation::get, done.paths[1]));
  CHECK(one.stat.czxid == two.stat.czxid);
  CHECK(two.stat.ephemeral_owner == session.info_.id);
  const auto refused = session.ask(creations({"/each/one/c-", "/each/missing/c-", "/each/two/c-"}));
  CHECK(refused.code == reply_code::no_node);
  CHECK(refused.results == std::vector{reply_code::ok, reply_code::no_node, reply_code::not_sent});
  CHECK(refused.paths.empty());
  CHECK(session.ask(on_path(operation::children, "/each/one")).children.size() == 2);
  CHECK(session.ask(on_path(operation::children, "/each/two")).children.size() == 1);
}

TEST_CASE("a connection lost and regained is told, and the session stays") {
  auto options = options_for();
  options.session_timeout = 60s;  // however long the client takes to find the new server
  one_session session{options};
  session.wait_for_connection();
  const auto id = session.info_.id;
  const auto path = session.ask(create("/survivor-", create_mode::ephemeral_sequential)).path;
  ensemble().kill(0);
  session.wait_for(connection_state::disconnected);
  // The C client tells of the loss, answers what was sent, and only then changes its state. The second answer comes from
  // an attempt to reconnect.
  for (const auto* lost : {"/lost", "/lost-too"}) CHECK(may_have_happened(session.ask(create(lost)).code));
  CHECK(session.send(check({"/a", "/b"})) == 0);
  CHECK(session.send(replace("/a", "/b")) == 0);
  ensemble().start(0);
  session.wait_for_connection();
  CHECK(session.info_.id == id);
  CHECK(session.ask(on_path(operation::get, path)).stat.ephemeral_owner == id);
}

TEST_CASE("an expired session is told, and takes no more requests") {
  one_session session;
  session.wait_for_connection();
  CHECK(ensemble().expire(session.info_.id));
  session.wait_for(connection_state::expired);
  CHECK(session.send(create("/never")) == 0);
  CHECK(session.send(check({"/a", "/b", "/c"})) == 0);
  CHECK(session.send(replace("/a", "/b")) == 0);
  CHECK(session.send(requeue("/a", "/b-")) == 0);
}

TEST_CASE("requests in flight when the session expires leave nothing behind") {
  one_session session;
  session.wait_for_connection();
  ensemble().pause(0);
  for (int i = 0; i < 1000; ++i) session.send(on_path(operation::get, "/", true));
  for (int i = 0; i < 1000; ++i) session.send(check({"/", "/"}));
  for (int i = 0; i < 1000; ++i) session.send(replace("/no-such-node", "/never"));
  session.wait_for(connection_state::disconnected);
  ensemble().resume(0);
  ensemble().expire(session.info_.id);
  session.wait_for(connection_state::expired);
}

TEST_CASE("thousands of requests in flight when the session is closed leave nothing behind") {
  one_session session;
  session.wait_for_connection();
  ensemble().pause(0);
  for (int i = 0; i < 2000; ++i) session.send(on_path(operation::get, "/", true));
  for (int i = 0; i < 1000; ++i) session.send(check({"/", "/"}));
  for (int i = 0; i < 1000; ++i) session.send(replace("/no-such-node", "/never"));
  session.close();
  MESSAGE("answered when closed: " << session.order_.size() << " of 4000");
  ensemble().resume(0);
  ensemble().wait_for_quorum(10s);
}

TEST_CASE("closing sends what was sent before, and ends the session at once") {
  one_session other;
  other.wait_for_connection();
  other.ask(create("/closing"));
  {
    one_session session;
    session.wait_for_connection();
    session.ask(create("/closing/e-", create_mode::ephemeral_sequential));
    session.send(create("/closing/last"));
  }
  other.ask(on_path(operation::sync, "/closing"));
  CHECK(other.ask(on_path(operation::children, "/closing")).children == std::vector<std::string>{"last"});
}

TEST_CASE("a session can be retired from within its own callback") {
  one_session session;
  session.on_each_reply([&] { session.retire(); });
  session.wait_for_connection();
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
  session.wait_for_connection();
  CHECK(session.ask(create("/patient")).code == reply_code::ok);
}

TEST_CASE("hosts that do not resolve are told by name, and left out when another does") {
  one_session nowhere{options_for("no-such-host.invalid:2181")};
  nowhere.wait([&] { return nowhere.opened_; });
  CHECK(nowhere.failure_.find("no-such-host.invalid:2181") != std::string::npos);
  auto options = options_for();
  options.hosts.push_back("no-such-host.invalid:2181");
  one_session somewhere{options};
  somewhere.wait_for_connection();
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

}  // namespace latchkey::handle_tests
