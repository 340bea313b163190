// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <latchkey/testing/ensemble.hpp>
#include <latchkey/testing/proxy.hpp>
#include <latchkey/testing/raw_client.hpp>

#include "support.hpp"

using namespace latchkey::testing;

TEST_SUITE_BEGIN("ensemble");

TEST_CASE("three servers are one leader and two followers, and all serve") {
  auto& servers = three_servers();
  REQUIRE(servers.leader().has_value());
  CHECK(servers.followers().size() == 2);
  CHECK(std::ranges::count(servers.followers(), *servers.leader()) == 0);
  CHECK(std::ranges::count(servers.connect_string(), ',') == 2);
  for (std::size_t i = 0; i < servers.size(); ++i) {
    raw_client client{servers.address(i)};
    CHECK(client.exists("/").has_value());
  }
}

TEST_CASE("the ensemble survives the death of its leader") {
  auto& servers = three_servers();
  const auto old = *servers.leader();
  servers.create("/before");
  servers.kill(old);
  CHECK_FALSE(servers.running(old));
  CHECK(servers.pid(old) == 0);
  servers.wait_for_quorum(patience);
  CHECK(servers.wait_for_leader(patience) != old);
  CHECK(servers.remove("/before"));
  servers.start(old);
  CHECK(servers.followers().size() == 2);
}

TEST_CASE("a stopped server leaves and a restarted one returns to its port") {
  auto& servers = three_servers();
  const auto one = servers.followers().front();
  const auto address = servers.address(one);
  servers.stop(one);
  CHECK_FALSE(servers.admin(one).ruok());
  servers.restart(one);
  CHECK(servers.address(one) == address);
  CHECK(servers.admin(one).ruok());
}

TEST_CASE("a server whose snapshots and logs were deleted copies those of the leader") {
  auto& servers = three_servers();
  const auto one = servers.followers().front();
  servers.create("/kept");
  servers.stop(one);
  const auto data = servers.log(one).parent_path() / "data" / "version-2";
  REQUIRE(std::filesystem::remove_all(data) > 1);
  servers.start(one);
  servers.wait_until_serving(one, patience);
  raw_client client{servers.address(one)};
  CHECK(client.exists("/kept").has_value());
  CHECK(servers.remove("/kept"));
}

TEST_CASE("a paused server is silent until it is resumed") {
  auto& servers = three_servers();
  const auto one = servers.followers().front();
  servers.pause(one);
  CHECK_FALSE(servers.running(one));
  CHECK_FALSE((four_letter_words{servers.address(one), 100ms}.ruok()));
  servers.wait_for_quorum(patience);
  servers.resume(one);
  servers.wait_until_serving(one, patience);
  CHECK(servers.running(one));
}

TEST_CASE("without a majority there is no quorum") {
  auto& servers = three_servers();
  servers.kill(0);
  servers.kill(1);
  CHECK_THROWS_AS(servers.wait_for_quorum(300ms), cluster_error);
  servers.start(0);
  servers.start(1);
  servers.wait_for_quorum(patience);
}

TEST_CASE("a session can be ended from outside by its id alone, once") {
  auto& servers = three_servers();
  raw_client victim{servers.address(servers.followers().front())};
  victim.create("/victim", {}, create_mode::ephemeral);
  CHECK(servers.expire(victim.session().id));
  CHECK_FALSE(servers.exists("/victim").has_value());
  CHECK_THROWS_AS(victim.exists("/"), connection_failure);
  CHECK_FALSE(servers.expire(victim.session()));
}

TEST_CASE("the longest time is no time that is over, and a tick of less than a millisecond is refused") {
  auto& servers = three_servers();
  servers.wait_for_quorum(std::chrono::milliseconds::max());
  servers.wait_until_serving(0, std::chrono::milliseconds::max());
  proxy network{servers.addresses()};
  raw_client client{network.address(0)};
  CHECK(network.wait_for_connected(true, std::chrono::milliseconds::max()));
  CHECK_THROWS_AS(ensemble({.tick = std::chrono::milliseconds{-1}}), cluster_error);
}

TEST_CASE("session timeouts are as the options say") {
  auto& server = one_server();
  CHECK(raw_client(server.address(0), {.session_timeout = 1ms}).session_timeout() == 1s);
  CHECK(raw_client(server.address(0), {.session_timeout = 1h}).session_timeout() == 60s);
}

TEST_CASE("the configuration of one server changes with its next start") {
  ensemble one{{.servers = 1}};
  const auto granted = [&] { return raw_client(one.address(0), {.session_timeout = 1h}).session_timeout(); };
  one.configure(0, {"maxSessionTimeout=4000"});
  CHECK(granted() == 60s);
  one.restart(0);
  CHECK(granted() == 4s);
  one.configure(0, {});
  one.restart(0);
  CHECK(granted() == 60s);
}

TEST_CASE("the data goes with the ensemble" * doctest::skip(std::getenv("LATCHKEY_KEEP_DATA") != nullptr)) {
  std::filesystem::path folder;
  {
    const ensemble brief{{.servers = 1}};
    folder = brief.data_dir();
    CHECK(std::filesystem::exists(brief.log(0)));
  }
  CHECK_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("a server that does not start is an error that quotes its log") {
  try {
    const ensemble broken{{.servers = 1, .config_lines = {"tickTime=nonsense"}}};
    FAIL("it has started");
  } catch (const cluster_error& failure) {
    const std::string message = failure.what();
    CHECK(message.find("server 0 is not running") != message.npos);
    CHECK(message.find("nonsense") != message.npos);
    CHECK(message.find("/log") != message.npos);
  }
}

TEST_CASE("an ensemble without links through proxies cannot be partitioned") {
  CHECK_THROWS_AS(one_server().isolate(0), cluster_error);
  CHECK_THROWS_AS(one_server().hold_back(0, direction::incoming), cluster_error);
}

TEST_SUITE_END();
