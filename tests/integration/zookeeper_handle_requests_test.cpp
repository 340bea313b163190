// SPDX-License-Identifier: Apache-2.0
// The session of the C client: what each request does, and how it is answered.
#include "zookeeper_handle_test.hpp"

#include <latchkey/testing/proxy.hpp>

namespace latchkey::handle_tests {

TEST_SUITE_BEGIN("zookeeper handle");

TEST_CASE("a create and a list sent back to back are answered in order, and the list shows the node") {
  one_session session;
  session.wait_for_connection();
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
  session.wait_for_connection();
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

TEST_CASE("what an ACL lets anyone do is told, and nothing else of it") {
  auto options = options_for();
  options.authentication = {{"digest", "owner:secret"}};
  options.acl = {{"auth", "", "cdrwa"}, {"world", "anyone", "rw"}};
  one_session session{std::move(options)};
  session.wait_for_connection();
  const auto path = session.ask(create("/guarded-", create_mode::ephemeral_sequential)).path;
  CHECK(session.ask(on_path(operation::get_acl, path)).data == "rw");
  CHECK(session.ask(on_path(operation::get_acl, "/")).data == "cdrwa");
  CHECK(session.ask(on_path(operation::get_acl, "/missing")).code == reply_code::no_node);
}

TEST_CASE("a request with a path that is none is not sent") {
  one_session session;
  session.wait_for_connection();
  CHECK(session.send(on_path(operation::get, "no/slash")) == 0);
  CHECK(session.send(check({})) == 0);
  CHECK(session.send(check({"/", "/trailing/", "relative"})) == 0);
  CHECK(session.send(set("no/slash", "new")) == 0);
  CHECK(session.send(replace("/old", "no/slash")) == 0);
  CHECK(session.send(replace("/trailing/", "/new")) == 0);
  CHECK(session.send(requeue("/old", "no/slash")) == 0);
  CHECK(session.send(requeue("/trailing/", "/new-")) == 0);
  auto contained = replace("/old", "/new");
  contained.steps.front().mode = create_mode::container;
  CHECK(session.send(std::move(contained)) == 0);
}

TEST_CASE("a container is made, and goes when its last child has gone") {
  one_session session;
  session.wait_for_connection();
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
  session.wait_for_connection();
  for (const auto* path : {"/checked", "/checked/a", "/checked/b", "/checked/c"}) session.ask(create(path));
  const auto good = session.ask(check({"/checked/a", "/checked/b", "/checked/c"}));
  CHECK(good.code == reply_code::ok);
  CHECK(good.results == std::vector(3, reply_code::ok));
  const auto bad = session.ask(check({"/checked/a", "/checked/none", "/checked/c"}));
  CHECK(bad.code == reply_code::no_node);
  CHECK(bad.results == std::vector{reply_code::ok, reply_code::no_node, reply_code::not_sent});
}

TEST_CASE("a set changes the data and nothing else") {
  one_session session;
  session.wait_for_connection();
  session.ask(create("/settable"));
  const auto before = session.ask(on_path(operation::get, "/settable")).stat;
  const auto changed = session.ask(set("/settable", "new"));
  CHECK(changed.code == reply_code::ok);
  CHECK(changed.stat.czxid == before.czxid);
  CHECK(changed.stat.ctime == before.ctime);
  const auto after = session.ask(on_path(operation::get, "/settable"));
  CHECK(after.data == "new");
  CHECK(after.stat.czxid == before.czxid);
  CHECK(after.stat.ctime == before.ctime);
  CHECK(session.ask(set("/settable", "")).code == reply_code::ok);
  CHECK(session.ask(on_path(operation::get, "/settable")).data.empty());
  CHECK(session.ask(set("/settable/missing", "new")).code == reply_code::no_node);
}

TEST_CASE("a node tells when it was created") {
  const auto now = [] {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
  };
  one_session session;
  session.wait_for_connection();
  const auto before = now();
  const auto made = session.ask(create("/dated"));
  const auto after = now();
  CHECK(made.stat.ctime >= before);
  CHECK(made.stat.ctime <= after);
  CHECK(session.ask(on_path(operation::get, "/dated")).stat.ctime == made.stat.ctime);
}

TEST_CASE("a replace makes the new node ours and removes the old one, in one transaction") {
  one_session session;
  session.wait_for_connection();
  session.ask(create("/swap"));
  const auto old = session.ask(create("/swap/old-", create_mode::ephemeral_sequential)).path;
  const auto done = session.ask(replace(old, "/swap/new", "mine"));
  CHECK(done.code == reply_code::ok);
  CHECK(done.results == std::vector{reply_code::ok, reply_code::ok});
  CHECK(session.ask(on_path(operation::children, "/swap")).children == std::vector<std::string>{"new"});
  const auto made = session.ask(on_path(operation::get, "/swap/new"));
  CHECK(made.data == "mine");
  CHECK(made.stat.ephemeral_owner == session.info_.id);
  const auto parent = ensemble().exists("/swap");
  REQUIRE(parent);
  CHECK(parent->pzxid == made.stat.czxid);  // the last change of the children, the removal, is that of the creation
}

TEST_CASE("a replace or a requeue whose old node is missing creates nothing") {
  for (const auto& missing :
       {replace("/swap-missing/old", "/swap-missing/new"), requeue("/swap-missing/old", "/swap-missing/new-")}) {
    one_session session;
    session.wait_for_connection();
    session.ask(create("/swap-missing"));
    const auto done = session.ask(missing);
    CHECK(done.code == reply_code::no_node);
    CHECK(done.results == std::vector{reply_code::ok, reply_code::no_node});
    CHECK(done.paths.empty());
    CHECK(session.ask(on_path(operation::children, "/swap-missing")).children.empty());
  }
}

TEST_CASE("a replace whose new node exists leaves both as they were") {
  one_session session;
  session.wait_for_connection();
  for (const auto* path : {"/swap-taken", "/swap-taken/old", "/swap-taken/new"}) session.ask(create(path));
  const auto done = session.ask(replace("/swap-taken/old", "/swap-taken/new", "mine"));
  CHECK(done.code == reply_code::node_exists);
  CHECK(done.results == std::vector{reply_code::node_exists, reply_code::not_sent});
  CHECK(session.ask(on_path(operation::get, "/swap-taken/new")).data == "data");
  CHECK(session.ask(on_path(operation::get, "/swap-taken/old")).code == reply_code::ok);
}

TEST_CASE("a requeue gives the next number to a new node of ours, and removes the old one, in one transaction") {
  one_session session;
  session.wait_for_connection();
  session.ask(create("/again"));
  auto last = session.ask(create("/again/a-", create_mode::ephemeral_sequential)).path;
  CHECK(last == "/again/a-0000000000");
  for (int i = 1; i < 12; ++i) {
    const auto prefix = "/again/" + std::string(static_cast<std::size_t>(i) * 16, 'b') + "-";
    const auto done = session.ask(requeue(last, prefix));
    REQUIRE(done.code == reply_code::ok);
    CHECK(done.results == std::vector{reply_code::ok, reply_code::ok});
    CHECK(done.paths == std::vector{prefix + (i < 10 ? "000000000" : "00000000") + std::to_string(i)});
    last = done.paths.front();
    CHECK(session.ask(on_path(operation::children, "/again")).children == std::vector{last.substr(7)});
  }
  const auto made = session.ask(on_path(operation::get, last));
  CHECK(made.data == "data");
  CHECK(made.stat.ephemeral_owner == session.info_.id);
  const auto parent = ensemble().exists("/again");
  REQUIRE(parent);
  CHECK(parent->pzxid == made.stat.czxid);
}

TEST_CASE("a requeue keeps its container: that has never been empty") {
  one_session session;
  session.wait_for_connection();
  session.ask(create("/again-contained", create_mode::container));
  auto last = session.ask(create("/again-contained/a-", create_mode::ephemeral_sequential)).path;
  session.ask(on_path(operation::get, "/again-contained", true));
  const auto until = std::chrono::steady_clock::now() + 1s;  // some five looks of the ensemble for empty containers
  while (std::chrono::steady_clock::now() < until) {
    const auto done = session.ask(requeue(last, "/again-contained/a-"));
    REQUIRE(done.code == reply_code::ok);
    last = done.paths.front();
  }
  CHECK(session.watches_.empty());
}

TEST_CASE("a remove_all deletes all in one transaction, or nothing") {
  one_session session;
  session.wait_for_connection();
  session.ask(create("/many"));
  std::vector<std::string> nodes;
  for (int i = 0; i < 100; ++i)
    nodes.push_back(session.ask(create("/many/n-", create_mode::ephemeral_sequential)).path);
  const auto removal = [](std::vector<std::string> paths) {
    return request{.kind = operation::transact, .steps = steps_for(step::operation::remove, std::move(paths))};
  };
  const auto none = session.ask(removal({nodes.front(), "/many/none", nodes.back()}));
  CHECK(none.code == reply_code::no_node);
  CHECK(none.results == std::vector{reply_code::ok, reply_code::no_node, reply_code::not_sent});
  CHECK(session.ask(on_path(operation::children, "/many")).children.size() == 100);
  const auto before = ensemble().exists("/many");
  const auto done = session.ask(removal(nodes));
  CHECK(done.code == reply_code::ok);
  CHECK(done.results == std::vector<reply_code>(100, reply_code::ok));
  CHECK(session.ask(on_path(operation::children, "/many")).children.empty());
  const auto after = ensemble().exists("/many");
  REQUIRE(before);
  REQUIRE(after);
  CHECK(after->pzxid > before->pzxid);
  CHECK(session.send(removal({})) == 0);
  CHECK(session.send(removal({"/many", "no/slash"})) == 0);
}

TEST_CASE("a set or a replace whose answer is lost is answered unknown, and has happened") {
  zk::proxy proxy{ensemble().addresses()};
  one_session session{options_for(proxy.connect_string())};
  session.wait_for_connection();
  for (const auto* path : {"/unknown", "/unknown/old"}) session.ask(create(path));
  proxy.drop_reply_of_next(zk::opcode::set_data);
  CHECK(session.ask(set("/unknown", "new")).code == reply_code::unknown_outcome);
  session.wait_for_connection();
  proxy.drop_reply_of_next(zk::opcode::multi);
  CHECK(session.ask(replace("/unknown/old", "/unknown/new")).code == reply_code::unknown_outcome);
  session.wait_for_connection();
  CHECK(session.ask(on_path(operation::get, "/unknown")).data == "new");
  CHECK(session.ask(on_path(operation::children, "/unknown")).children == std::vector<std::string>{"new"});
}

TEST_CASE("a set or a replace that is lost on its way is answered unknown, and has not happened") {
  zk::proxy proxy{ensemble().addresses()};
  one_session session{options_for(proxy.connect_string())};
  session.wait_for_connection();
  for (const auto* path : {"/strayed", "/strayed/old"}) session.ask(create(path));
  proxy.drop_next(zk::opcode::set_data);
  CHECK(session.ask(set("/strayed", "new")).code == reply_code::unknown_outcome);
  session.wait_for_connection();
  proxy.drop_next(zk::opcode::multi);
  CHECK(session.ask(replace("/strayed/old", "/strayed/new")).code == reply_code::unknown_outcome);
  session.wait_for_connection();
  CHECK(session.ask(on_path(operation::get, "/strayed")).data == "data");
  CHECK(session.ask(on_path(operation::children, "/strayed")).children == std::vector<std::string>{"old"});
}

TEST_CASE("credentials let in whom the ACL names, and nobody else") {
  auto options = options_for();
  options.authentication = {{"digest", "owner:secret"}};
  options.acl = {{"auth", "", "cdrwa"}};
  one_session owner{options};
  owner.wait_for_connection();
  CHECK(owner.ask(create("/private")).code == reply_code::ok);
  CHECK(owner.ask(create("/private/node")).code == reply_code::ok);
  CHECK(owner.ask(create("/private/old")).code == reply_code::ok);
  CHECK(owner.ask(replace("/private/old", "/private/new")).code == reply_code::ok);
  options.authentication = {{"digest", "owner:wrong"}};
  one_session other{options};
  other.wait_for_connection();
  CHECK(other.ask(on_path(operation::get, "/private/node")).code == reply_code::no_permission);
  CHECK(other.ask(on_path(operation::get, "/private/new")).code == reply_code::no_permission);
  CHECK(other.ask(create("/private/mine")).code == reply_code::no_permission);
  CHECK(other.ask(set("/private/node", "mine")).code == reply_code::no_permission);
  CHECK(other.ask(replace("/private/node", "/private/mine")).code == reply_code::no_permission);
  CHECK(owner.ask(on_path(operation::get, "/private/node")).code == reply_code::ok);
  CHECK(owner.ask(on_path(operation::get, "/private/new")).code == reply_code::ok);
}

TEST_SUITE_END();

}  // namespace latchkey::handle_tests
