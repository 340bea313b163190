// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <latchkey/testing/four_letter.hpp>

#include "support.hpp"

using namespace latchkey::testing;

namespace {

connection_info connection_of(const raw_client& client) {
  const auto all = one_server().admin(0).cons();
  const auto found = std::ranges::find(all, client.session().id, &connection_info::session_id);
  REQUIRE(found != all.end());
  return *found;
}

}  // namespace

TEST_SUITE_BEGIN("four_letter");

TEST_CASE("a server describes itself") {
  const auto admin = one_server().admin(0);
  CHECK(admin.ruok());
  CHECK(admin.srvr().mode == "standalone");
  CHECK(admin.srvr().version.starts_with("3."));
  const auto metrics = admin.mntr();
  CHECK(metrics.server_state == "standalone");
  CHECK(metrics.znode_count >= 5);
  CHECK(metrics.num_alive_connections >= 1);
  CHECK(metrics.all.at("znode_count") == std::to_string(metrics.znode_count));
}

TEST_CASE("the connect request, every request and every ping count as one packet of the connection") {
  raw_client client{one_server().address(0)};
  CHECK(connection_of(client).received == 1);
  client.ping();
  CHECK(connection_of(client).received == 2);
  client.exists("/");
  CHECK(connection_of(client).received == 3);
  CHECK(connection_of(client).last_operation == "EXIS");
  CHECK(connection_of(client).session_timeout == 10s);
  one_server().admin(0).crst();
  CHECK(connection_of(client).received == 0);
}

TEST_CASE("every four-letter word is a packet of the server") {
  const auto admin = one_server().admin(0);
  admin.srst();
  CHECK(admin.srvr().received == 1);
  CHECK(admin.ruok());
  CHECK(admin.srvr().received == 3);
}

TEST_CASE("dump lists sessions and their ephemeral nodes, and nothing else") {
  raw_client client{one_server().address(0)};
  client.create("/dumped", {}, create_mode::ephemeral);
  const auto id = client.session().id;
  const auto dump = one_server().admin(0).dump();
  CHECK(std::ranges::count(dump.sessions, id) == 1);
  CHECK(dump.ephemerals.at(id) == std::vector<std::string>{"/dumped"});
}

TEST_CASE("without clients there are no watches") {
  const auto admin = one_server().admin(0);
  CHECK(admin.wchs().watches == 0);
  CHECK(admin.wchp().empty());
  CHECK(admin.wchc().empty());
}

TEST_CASE("nobody there is no answer") {
  const four_letter_words nobody{endpoint{"127.0.0.1", 1}};
  CHECK_FALSE(nobody.ruok());
  CHECK_THROWS_AS(static_cast<void>(nobody.mntr()), connection_failure);
}

TEST_SUITE_END();
