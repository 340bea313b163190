// SPDX-License-Identifier: Apache-2.0
#include "bridge/udp_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <latchkey/error.hpp>

#include <doctest/doctest.h>

#include "bridge/client_thread.hpp"

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;

time_point boot_time() { return boottime_clock::now(); }

void wait_for_one(const udp_port& port) {
  pollfd ready{port.descriptor(), POLLIN, 0};
  REQUIRE(::poll(&ready, 1, 10'000) == 1);
}

std::vector<std::string> heard_by(udp_port& port, std::string* from = nullptr) {
  std::vector<std::string> heard;
  port.listen([&](const std::string& who, std::string_view what) {
    heard.emplace_back(what);
    if (from != nullptr) *from = who;
  });
  wait_for_one(port);
  port.receive();
  port.listen({});
  return heard;
}

}  // namespace

TEST_SUITE("udp port") {
  TEST_CASE("what one sends another receives, and may answer") {
    udp_port one{"127.0.0.1:0", {}};
    udp_port two{"0.0.0.0:0", {}};
    const auto there = two.address("127.0.0.1:2181");
    CHECK(there.starts_with("127.0.0.1:"));
    one.send(there, "question");
    std::string from;
    CHECK(heard_by(two, &from) == std::vector<std::string>{"question"});
    CHECK(from == one.address("127.0.0.1:2181"));
    two.send(from, "answer");
    CHECK(heard_by(one) == std::vector<std::string>{"answer"});
  }

  TEST_CASE("nothing is sent to many hosts at once, nor to no host, whatever a node advertises") {
    udp_port one{"127.0.0.1:0", {}};
    udp_port two{"0.0.0.0:0", {}};
    const auto there = two.address("127.0.0.1:2181");
    const auto port = there.substr(there.rfind(':'));
    const ip_mreqn all_of_loopback{{inet_addr("239.1.2.3")}, {inet_addr("127.0.0.1")}, 0};
    REQUIRE(::setsockopt(two.descriptor(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &all_of_loopback, sizeof all_of_loopback) ==
            0);
    for (const auto* const group : {"239.1.2.3", "255.255.255.255", "0.0.0.0"}) one.send(group + port, "many");
    one.send("127.0.0.1:0", "nowhere");
    one.send(there, "one");
    CHECK(heard_by(two) == std::vector<std::string>{"one"});
  }

  TEST_CASE("its address is that from which the ensemble is reached, or what is advertised") {
    CHECK(udp_port{"0.0.0.0:0", "10.1.2.3:40123"}.address("127.0.0.1:2181") == "10.1.2.3:40123");
    CHECK(udp_port{"0.0.0.0:0", {}}.address("") == "");
    CHECK(udp_port{"0.0.0.0:0", {}}.address("::1:2181") == "");  // of another family
  }

  TEST_CASE("if it listens at one address of this host, that is its address") {
    CHECK(udp_port{"127.0.0.2:0", {}}.address("127.0.0.1:2181").starts_with("127.0.0.2:"));
  }

  TEST_CASE("what is no numeric address of this host and a free port is refused") {
    for (const auto& where : std::vector<std::string>{
             "", "127.0.0.1", "127.0.0.1:", "localhost:0", "127.1:0", "127.0.0.1:x", "127.0.0.1:+1", "127.0.0.1: 1",
             "127.0.0.1:99999", std::string{"127.0.0.1:0\0", 12}, "192.0.2.1:0", "224.0.0.1:0", "255.255.255.255:0"}) {
      CAPTURE(where);
      CHECK_THROWS_AS((udp_port{where, {}}), error);
    }
    udp_port taken{"127.0.0.1:0", {}};
    CHECK_THROWS_AS((udp_port{taken.address("127.0.0.1:2181"), {}}), error);
  }

  TEST_CASE("an address that others cannot send to is not advertised") {
    for (const auto* what :
         {"host:1", "127.0.0.1:0", "0.0.0.0:5000", "224.0.0.1:5000", "255.255.255.255:5000", "[::1]:5000"}) {
      CAPTURE(what);
      CHECK_THROWS_AS((udp_port{"127.0.0.1:0", what}), error);
    }
  }

  TEST_CASE("it takes a few at a time") {
    udp_port one{"127.0.0.1:0", {}};
    udp_port two{"127.0.0.1:0", {}};
    const auto there = two.address("127.0.0.1:2181");
    for (int i = 0; i < 40; ++i) one.send(there, "x");
    CHECK(heard_by(two).size() == udp_port::most_at_once);
    CHECK(heard_by(two).size() == 40 - udp_port::most_at_once);
  }

  TEST_CASE("a timer that is cancelled as it expires keeps no datagram waiting") {
    auto clock = std::make_shared<monitor>(&boot_time);
    udp_port port{"127.0.0.1:0", {}};
    udp_port from{"127.0.0.1:0", {}};
    timer_id first;
    timer_id later;
    std::atomic<int> heard{0};
    port.listen([&](const std::string&, std::string_view) {
      clock->cancel(first);
      clock->cancel(later);
      later = clock->in(1h, [] {});
      ++heard;
    });
    client_thread timers{clock, &port};
    const auto there = port.address("127.0.0.1:2181");
    const auto said_twice = [&](duration before) {
      const auto due = boot_time() + 500us;
      clock->run([&] { first = clock->at(due, [] {}); });
      while (boot_time() < due - before) {
      }
      for (int i = 0; i < 2; ++i) {
        const int so_far = heard;
        from.send(there, "x");
        const auto deadline = boot_time() + 20s;
        while (heard == so_far && boot_time() < deadline) std::this_thread::yield();
        if (heard == so_far) return false;
      }
      return true;
    };
    for (int i = 0; i < 400; ++i) REQUIRE(said_twice(std::chrono::microseconds{i % 40}));
    timers.stop();
  }

  TEST_CASE("a flood of datagrams keeps no timer waiting: one that is due runs before the next few are received") {
    auto clock = std::make_shared<monitor>(
        [] { return std::chrono::steady_clock::now() - decltype(std::chrono::steady_clock::now()){} + time_point{}; });
    udp_port flooded{"127.0.0.1:0", {}};
    udp_port from{"127.0.0.1:0", {}};
    constexpr std::size_t flood = 150;  // what the socket holds
    std::size_t heard = 0;
    std::size_t heard_before = 0;
    std::atomic<bool> over{false};
    flooded.listen([&](const std::string&, std::string_view) {
      if (++heard == 1) clock->in(0ms, [&] { heard_before = heard; });
      if (heard == flood) over = true;
    });
    const auto there = flooded.address("127.0.0.1:2181");
    for (std::size_t i = 0; i < flood; ++i) from.send(there, std::string(100, 'x'));
    client_thread timers{clock, &flooded};
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!over && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    timers.stop();
    CHECK(heard == flood);
    CHECK(heard_before == udp_port::most_at_once);
  }
}

}  // namespace latchkey::detail
