// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>
#include <future>
#include <latchkey/testing/proxy.hpp>

#include "support.hpp"

using namespace latchkey::testing;

namespace {

struct proxied {
  proxy network{one_server().addresses()};
  raw_client client{network.address(0), {.request_timeout = patience}};
};

}  // namespace

TEST_SUITE_BEGIN("proxy");

TEST_CASE("requests are counted by operation, pings apart") {
  proxied p;
  p.client.create("/counted");
  p.client.exists("/counted");
  p.client.exists("/counted");
  p.client.ping();
  p.client.remove("/counted");
  CHECK(p.network.requests() == std::map<std::string, std::uint64_t>{{"create", 1}, {"exists", 2}, {"delete", 1}});
  CHECK(p.network.total_requests() == 4);
  CHECK(p.network.requests(opcode::ping) == 1);
  p.network.reset_requests();
  CHECK(p.network.requests().empty());
}

TEST_CASE("the session of the client and its server are known") {
  proxied p;
  CHECK(p.network.last_session() == p.client.session());
  CHECK(p.network.connected_server() == 0);
  CHECK(one_server().expire(*p.network.last_session()));
  CHECK(p.network.wait_for_connected(false, patience));
  CHECK_FALSE(p.network.connected_server().has_value());
}

TEST_CASE("a dropped request has no effect") {
  proxied p;
  p.network.drop_next(opcode::create);
  CHECK_THROWS_AS(p.client.create("/never"), connection_failure);
  CHECK(p.network.wait_for_faults(patience));
  CHECK_FALSE(one_server().exists("/never").has_value());
}

TEST_CASE("a request whose reply is dropped has its effect") {
  proxied p;
  p.network.drop_reply_of_next(opcode::create);
  CHECK(p.client.exists("/").has_value());  // another operation is not concerned
  CHECK_FALSE(p.network.wait_for_faults(0ms));
  CHECK_THROWS_AS(p.client.create("/done"), connection_failure);
  CHECK(p.network.wait_for_faults(patience));
  CHECK(one_server().remove("/done"));
}

TEST_CASE("a held reply comes when it is released") {
  proxied p;
  p.network.hold_reply_of_next(opcode::create);
  auto created = std::async(std::launch::async, [&] { return p.client.create("/held"); });
  CHECK(p.network.wait_for_request(opcode::create, 1, patience));
  CHECK(p.network.wait_for_faults(patience));
  CHECK(one_server().exists("/held").has_value());
  CHECK(created.wait_for(0s) == std::future_status::timeout);
  p.network.release_held();
  CHECK(created.get() == "/held");
  one_server().remove("/held");
}

TEST_CASE("healing disarms faults and delivers what was held") {
  proxied p;
  p.network.hold_reply_of_next(opcode::exists);
  p.network.drop_next(opcode::create);
  auto found = std::async(std::launch::async, [&] { return p.client.exists("/").has_value(); });
  CHECK(p.network.wait_for_request(opcode::exists, 1, patience));
  p.network.heal();
  CHECK(found.get());
  CHECK(p.network.wait_for_faults(0ms));
  CHECK(p.client.create("/healed") == "/healed");
  CHECK(p.client.remove("/healed"));
}

TEST_CASE("a cut network closes connections and refuses new ones until it is healed") {
  proxied p;
  const auto port = p.network.address(0);
  p.network.cut();
  CHECK_THROWS_AS(p.client.exists("/"), connection_failure);
  CHECK_THROWS_AS(raw_client{port}, connection_failure);
  p.network.heal();
  CHECK(p.network.address(0) == port);
  CHECK(raw_client{port}.exists("/").has_value());
}

TEST_CASE("a program that is started meanwhile keeps neither ports nor connections") {
  proxied p;
  const auto port = p.network.address(0);
  auto* const child = ::popen("echo $$; exec sleep 100", "r");
  REQUIRE(child != nullptr);
  int pid = 0;
  REQUIRE(std::fscanf(child, "%d", &pid) == 1);  // so its exec is over; the kernel closes descriptors late in it
  p.network.cut();
  CHECK_THROWS_AS(p.client.exists("/"), connection_failure);
  p.network.heal();
  CHECK(raw_client{port}.exists("/").has_value());
  ::kill(pid, SIGKILL);
  ::pclose(child);
}

TEST_CASE("in a black hole nothing passes, and what was sent arrives when it ends") {
  proxied p;
  p.network.black_hole();
  auto created = std::async(std::launch::async, [&] { return p.client.create("/late"); });
  auto connected = std::async(std::launch::async, [&] { return raw_client{p.network.address(0)}.session().id != 0; });
  CHECK(created.wait_for(200ms) == std::future_status::timeout);
  CHECK(connected.wait_for(0ms) == std::future_status::timeout);
  CHECK_FALSE(one_server().exists("/late").has_value());
  CHECK(p.network.requests(opcode::create) == 0);
  p.network.heal();
  CHECK(created.get() == "/late");
  CHECK(connected.get());
  CHECK(p.client.remove("/late"));
}

TEST_CASE("in a black hole of one way the other way is open") {
  proxied p;
  p.network.black_hole_to_servers();
  auto kept = std::async(std::launch::async, [&] { return p.client.create("/kept"); });
  CHECK(kept.wait_for(200ms) == std::future_status::timeout);
  CHECK_FALSE(one_server().exists("/kept").has_value());
  p.network.black_hole_to_clients();  // what was kept goes on
  CHECK(eventually([] { return one_server().exists("/kept").has_value(); }));
  CHECK(kept.wait_for(200ms) == std::future_status::timeout);
  p.network.heal();
  CHECK(kept.get() == "/kept");
  CHECK(p.client.remove("/kept"));
}

TEST_CASE("a delay adds to both directions") {
  proxied p;
  p.network.delay(50ms);
  const auto start = std::chrono::steady_clock::now();
  CHECK(p.client.exists("/").has_value());
  CHECK(std::chrono::steady_clock::now() - start >= 100ms);
  p.network.delay(0ms);
  CHECK(p.client.exists("/").has_value());
}

TEST_CASE("disconnecting ends connections once") {
  proxied p;
  p.network.disconnect();
  CHECK_THROWS_AS(p.client.exists("/"), connection_failure);
  CHECK(raw_client{p.network.address(0), p.client.session(), {}}.exists("/").has_value());
}

TEST_CASE("one server can be cut while the others are well") {
  proxy network{three_servers().addresses()};
  network.cut(1);
  CHECK_THROWS_AS(raw_client{network.address(1)}, connection_failure);
  raw_client client{network.address(2)};
  CHECK(network.connected_server() == 2);
  CHECK(client.exists("/").has_value());
}

TEST_CASE("four-letter words and large nodes pass") {
  proxied p;
  CHECK(four_letter_words{p.network.address(0)}.srvr().mode == "standalone");
  const std::string large(500'000, 'x');
  p.client.create("/large", large);
  CHECK(p.client.get("/large") == large);
  p.client.remove("/large");
}

TEST_SUITE_END();
