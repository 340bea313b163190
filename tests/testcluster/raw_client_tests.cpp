// SPDX-License-Identifier: Apache-2.0
#include <latchkey/testing/raw_client.hpp>

#include <algorithm>
#include <future>

#include <latchkey/testing/proxy.hpp>

#include "support.hpp"

using namespace latchkey::testing;

TEST_SUITE_BEGIN("raw_client");

TEST_CASE("a node can be created, read, changed and removed") {
  raw_client client{one_server().address(0)};
  CHECK(client.create("/raw", "first") == "/raw");
  CHECK(client.get("/raw") == "first");
  CHECK(client.set("/raw", "second").version == 1);
  CHECK(client.get("/raw") == "second");
  CHECK(client.exists("/raw")->data_length == 6);
  CHECK(client.remove("/raw"));
  CHECK_FALSE(client.remove("/raw"));
  CHECK_FALSE(client.get("/raw").has_value());
  CHECK_FALSE(client.exists("/raw").has_value());
}

TEST_CASE("children are listed in order and removed with their parent") {
  raw_client client{one_server().address(0)};
  client.create_all("/raw-tree/a/b");
  client.create("/raw-tree/c", {}, create_mode::container);
  CHECK(client.create("/raw-tree/n-", {}, create_mode::persistent_sequential) == "/raw-tree/n-0000000002");
  CHECK(client.children("/raw-tree") == std::vector<std::string>{"a", "c", "n-0000000002"});
  CHECK(client.remove_all("/raw-tree"));
  CHECK(client.children("/raw-tree").empty());
}

TEST_CASE("a request that is not answered is followed by another one, which frees a stuck server (ZOOKEEPER-4537)") {
  proxy network{one_server().addresses()};
  raw_client client{network.address(0)};
  client.create_all("/raw-stuck");
  network.hold_reply_of_next(opcode::get_children);
  auto listed = std::async(std::launch::async, [&] { return client.children("/"); });
  const bool nudged = network.wait_for_request(opcode::sync, 1, patience);
  network.release_held();
  REQUIRE(nudged);
  const auto names = listed.get();
  CHECK(std::find(names.begin(), names.end(), "raw-stuck") != names.end());
  CHECK(client.get("/raw-stuck") == "");  // the answer to the second request is not taken for this one's
}

TEST_CASE("what the server refuses is thrown with its code") {
  raw_client client{one_server().address(0)};
  client.create_all("/raw-refused/child");
  const auto code_of = [](auto call) {
    try {
      call();
    } catch (const operation_failed& failure) {
      return failure.code();
    }
    return 0;
  };
  CHECK(code_of([&] { client.create("/raw-refused"); }) == -110);
  CHECK(code_of([&] { client.remove("/raw-refused"); }) == -111);
  CHECK(code_of([&] { client.set("/raw-missing", ""); }) == -101);
}

TEST_CASE("an ephemeral node goes when its client closes") {
  raw_client observer{one_server().address(0)};
  {
    raw_client owner{one_server().address(0)};
    owner.create("/raw-ephemeral", {}, create_mode::ephemeral);
    CHECK(observer.exists("/raw-ephemeral")->ephemeral_owner == owner.session().id);
  }
  CHECK_FALSE(observer.exists("/raw-ephemeral").has_value());
}

TEST_CASE("the ephemeral node of an abandoned client stays until the session expires") {
  raw_client observer{one_server().address(0)};
  raw_client owner{one_server().address(0), {.session_timeout = 2s}};
  owner.create("/raw-abandoned", {}, create_mode::ephemeral);
  owner.abandon();
  CHECK(observer.exists("/raw-abandoned").has_value());
  CHECK(eventually([&] { return !observer.exists("/raw-abandoned"); }));
}

TEST_CASE("an idle client pings by itself") {
  auto& server = one_server();
  raw_client idle{server.address(0), {.session_timeout = 1s}};
  CHECK(idle.session_timeout() == 1s);
  const auto received = [&] {
    for (const auto& each : server.admin(0).cons()) {
      if (each.session_id == idle.session().id) return each.received;
    }
    return std::int64_t{0};
  };
  CHECK(eventually([&] { return received() >= 6; }));  // the connect request and pings: longer than the timeout
  CHECK(idle.exists("/").has_value());
}

TEST_CASE("the password of a session follows from its id") {
  raw_client client{one_server().address(0)};
  CHECK(credentials_of(client.session().id) == client.session());
}

TEST_CASE("a client can take over a session with its credentials, and only with them") {
  raw_client first{one_server().address(0)};
  auto wrong = first.session();
  wrong.password[0] ^= 1;
  CHECK_THROWS_AS(raw_client(one_server().address(0), wrong, {}), session_refused);
  raw_client second{one_server().address(0), first.session(), {}};
  CHECK(second.session() == first.session());
  CHECK_THROWS_AS(first.exists("/"), connection_failure);
}

TEST_CASE("a server that is not there is a connection failure") {
  CHECK_THROWS_AS(raw_client(endpoint{"127.0.0.1", 1}), connection_failure);
}

TEST_SUITE_END();
