// SPDX-License-Identifier: Apache-2.0
// The session of the C client: what watches tell, and when.
#include "zookeeper_handle_test.hpp"

#include <latchkey/testing/proxy.hpp>

namespace latchkey::handle_tests {

using heard = std::vector<std::pair<watch_event, std::string>>;

TEST_SUITE_BEGIN("zookeeper handle");

TEST_CASE("a get reads data and owner, and its watch tells of the deletion") {
  one_session session;
  session.wait_for_connection();
  session.ask(create("/watched"));
  const auto read = session.ask(on_path(operation::get, "/watched", true));
  CHECK(read.data == "data");
  CHECK(read.stat.czxid > 0);
  CHECK(read.stat.ephemeral_owner == 0);
  ensemble().remove("/watched");
  session.wait_for_watch(watch_event::deleted, "/watched");
}

TEST_CASE("the watches of the data and of the children of a node do not end one another") {
  one_session session;
  session.wait_for_connection();
  for (const std::string path : {"/data-first", "/children-first"}) {
    session.ask(create(path));
    session.ask(on_path(operation::get, path, true));
    session.ask(on_path(operation::children, path, true));
    const bool data_first = path == "/data-first";
    if (data_first) ensemble().set(path, "new");
    ensemble().create(path + "/child");
    if (!data_first) ensemble().set(path, "new");
    session.wait_for_watch(watch_event::changed, path);
    session.wait_for_watch(watch_event::children_changed, path);
  }
  CHECK(session.watches_ == heard{{watch_event::changed, "/data-first"},
                                  {watch_event::children_changed, "/data-first"},
                                  {watch_event::children_changed, "/children-first"},
                                  {watch_event::changed, "/children-first"}});
}

TEST_CASE("a child watch tells once, and the next list watches again") {
  one_session session;
  session.wait_for_connection();
  session.ask(create("/parent"));
  CHECK(session.ask(on_path(operation::children, "/parent", true)).children.empty());
  session.ask(create("/parent/a"));
  session.ask(create("/parent/b"));
  CHECK(session.watches_ == heard{{watch_event::children_changed, "/parent"}});
  CHECK(session.ask(on_path(operation::children, "/parent", true)).children.size() == 2);
  session.ask(set("/parent/a", "new"));  // is none of its business
  CHECK(session.watches_.size() == 1);
  session.ask(on_path(operation::remove, "/parent/a"));
  CHECK(session.watches_.size() == 2);
}

TEST_CASE("the end of a node that is watched in both ways is told once") {
  one_session session;
  session.wait_for_connection();
  session.ask(create("/both"));
  session.ask(on_path(operation::get, "/both", true));
  session.ask(on_path(operation::children, "/both", true));
  session.ask(on_path(operation::remove, "/both"));
  session.ask(on_path(operation::sync, "/"));
  CHECK(session.watches_ == heard{{watch_event::deleted, "/both"}});
}

TEST_CASE("both watches are kept over a lost connection, and tell afterwards what they have missed") {
  zk::proxy proxy{ensemble().addresses()};
  one_session session{options_for(proxy.connect_string())};
  session.wait_for_connection();
  for (const auto* path : {"/gone", "/grown", "/same"}) {
    session.ask(create(path));
    session.ask(on_path(operation::get, path, true));
    session.ask(on_path(operation::children, path, true));
  }
  proxy.cut();
  session.wait_for(connection_state::disconnected);
  ensemble().remove("/gone");
  ensemble().create("/grown/child");
  proxy.heal();
  session.wait_for_connection();
  session.ask(on_path(operation::sync, "/"));
  auto told = session.watches_;
  std::sort(told.begin(), told.end());
  CHECK(told == heard{{watch_event::deleted, "/gone"}, {watch_event::children_changed, "/grown"}});
  session.ask(set("/same", "new"));
  session.ask(create("/same/child"));
  session.ask(set("/grown", "new"));
  CHECK(session.watches_.size() == 5);
}

TEST_CASE("a replace tells who watches the old node and who watches the children, before it is answered") {
  one_session session;
  session.wait_for_connection();
  session.ask(create("/exchange"));
  session.ask(create("/exchange/old"));
  session.ask(on_path(operation::get, "/exchange/old", true));
  const auto listed = session.send(on_path(operation::children, "/exchange", true));
  const auto replaced = session.send(replace("/exchange/old", "/exchange/new"));
  CHECK(session.answer_to(replaced).code == reply_code::ok);
  auto told = session.watches_;
  std::sort(told.begin(), told.end());
  CHECK(told == heard{{watch_event::deleted, "/exchange/old"}, {watch_event::children_changed, "/exchange"}});
  CHECK(session.order_ == std::vector<std::uint64_t>{1, 2, 3, listed, 0, 0, replaced});
}

TEST_CASE("a requeue tells who watches the old node that it has gone") {
  one_session session;
  one_session other;
  session.wait_for_connection();
  other.wait_for_connection();
  session.ask(create("/again-watched"));
  const auto old = session.ask(create("/again-watched/a-", create_mode::ephemeral_sequential)).path;
  CHECK(other.ask(on_path(operation::get, old, true)).code == reply_code::ok);
  CHECK(session.ask(requeue(old, "/again-watched/b-")).code == reply_code::ok);
  other.wait_for_watch(watch_event::deleted, old);
}

TEST_CASE("a get of a missing node leaves no watch") {
  one_session session;
  session.wait_for_connection();
  CHECK(session.ask(on_path(operation::get, "/missing", true)).code == reply_code::no_node);
  ensemble().create("/missing");
  session.ask(on_path(operation::sync, "/"));
  CHECK(session.watches_.empty());
}

TEST_CASE("a watch speaks before the answer to a later request") {
  one_session session;
  session.wait_for_connection();
  session.ask(create("/early"));
  session.ask(on_path(operation::get, "/early", true));
  const auto removed = session.send(on_path(operation::remove, "/early"));
  const auto listed = session.send(on_path(operation::children, "/"));
  session.answer_to(listed);
  CHECK(session.order_ == std::vector<std::uint64_t>{1, 2, 0, removed, listed});
}

TEST_CASE("a child watch speaks before the answer to a later request") {
  one_session session;
  session.wait_for_connection();
  session.ask(create("/early-children"));
  session.ask(on_path(operation::children, "/early-children", true));
  const auto created = session.send(create("/early-children/child"));
  const auto listed = session.send(on_path(operation::children, "/early-children"));
  CHECK(session.answer_to(listed).children.size() == 1);
  CHECK(session.order_ == std::vector<std::uint64_t>{1, 2, 0, created, listed});
}

TEST_SUITE_END();

}  // namespace latchkey::handle_tests
