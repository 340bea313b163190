// SPDX-License-Identifier: Apache-2.0
/// A client of production whose servers move, or whose name servers fail: on servers that speak the protocol, and
/// names that are moved in place of getaddrinfo.

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <latchkey/client.hpp>

#include "bridge/known_hosts.hpp"
#include "log_lines.hpp"
#include "name_table.hpp"
#include "session/client_core.hpp"
#include "support/wire_server.hpp"

#include <zookeeper/zookeeper.h>

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto long_enough = 30s;  // a limit, not a pace
constexpr auto session_timeout = 2s;
constexpr const char* nowhere = "127.0.0.1:1";

name_table& names() { return name_table::of_program(); }

client_options short_sessions() {
  client_options options;
  options.session_timeout = session_timeout;
  return options;
}

std::unique_ptr<wire_server> server_at(std::string host, std::uint16_t port = 0) {
  wire_server::behaviour how;
  how.host = std::move(host);
  how.port = port;
  how.timeout = session_timeout;
  return std::make_unique<wire_server>(how);
}
std::unique_ptr<wire_server> server() { return server_at("127.0.0.1"); }

/// Waits until it has lost so many connections: it may have another one by then.
bool disconnected(const client& owner, std::uint64_t times) {
  const auto end = std::chrono::steady_clock::now() + long_enough;
  while (owner.metrics().disconnections < times && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(1ms);
  }
  return owner.metrics().disconnections == times;
}

/// A client that was connected to `from` before that server ended, and its session.
struct lost_client {
  lost_client(const std::string& hosts, std::unique_ptr<wire_server>& from) : owner{hosts, short_sessions()} {
    REQUIRE(owner.wait_for_connection(long_enough));
    session = owner.session_id();
    from.reset();
    REQUIRE(disconnected(owner, 1));
  }
  bool is_back_in_its_session() { return owner.wait_for_connection(long_enough) && owner.session_id() == session; }

  client owner;
  std::int64_t session = 0;
};

}  // namespace

TEST_SUITE("moving names") {
  TEST_CASE("a name that does not resolve hides no other") {
    auto known = server();
    names().set("known.test", {known->address()});
    names().forget("down.test");
    names().set("other.test", {nowhere});
    lost_client lost{"known.test:1,down.test:1,other.test:1", known};
    const auto living = server();
    names().set("other.test", {living->address()});
    CHECK(lost.is_back_in_its_session());
  }

  TEST_CASE("nor does one of which the name servers say nothing") {
    auto known = server();
    names().set("slow.test", {nowhere});
    names().set("known.test", {known->address()});
    std::optional<lost_client> lost{std::in_place, "slow.test:1,known.test:1", known};
    names().hold_back("slow.test");
    names().wait_until_asked_for_what_is_held_back();
    const auto living = server();
    names().set("known.test", {living->address()});
    CHECK(lost->is_back_in_its_session());
    lost.reset();  // closes, and does not wait for the name either
    names().release();
  }

  TEST_CASE("a name that is slow holds up no new client, and its servers are tried when it is known") {
    auto known = server();
    names().set("known.test", {known->address()});
    names().hold_back("slow.test");
    std::optional<client> owner{std::in_place, "slow.test:1,known.test:1", short_sessions()};
    REQUIRE(owner->wait_for_connection(long_enough));
    const auto session = owner->session_id();
    const auto living = server();
    names().set("slow.test", {living->address()});
    names().release();
    known.reset();
    REQUIRE(disconnected(*owner, 1));
    REQUIRE(owner->wait_for_connection(long_enough));
    CHECK(owner->session_id() == session);
  }

  TEST_CASE("nor do twelve of them") {
    const auto known = server();
    names().set("known.test", {known->address()});
    names().hold_back("slow.test");
    std::string hosts;
    for (int i = 0; i < 12; ++i) hosts += std::to_string(i) + ".slow.test:1,";
    std::optional<client> owner{std::in_place, hosts + "known.test:1", short_sessions()};
    CHECK(owner->wait_for_connection(long_enough));
    owner.reset();
    names().release();
  }

  TEST_CASE("nor do forty of them hide the new address of a name that was known") {
    auto known = server();
    names().set("known.test", {known->address()});
    names().hold_back("slow.test");
    std::string hosts;
    for (int i = 0; i < 40; ++i) hosts += std::to_string(i) + ".slow.test:1,";
    std::optional<lost_client> lost{std::in_place, "known.test:1," + hosts.substr(0, hosts.size() - 1), known};
    const auto living = server();
    names().set("known.test", {living->address()});
    CHECK(lost->is_back_in_its_session());
    lost.reset();
    names().release();
  }

  TEST_CASE("nor a new session, which is given the addresses that the name had") {
    auto before = server();
    names().set("slow.test", {before->address()});
    names().set("other.test", {nowhere});
    std::optional<lost_client> lost{std::in_place, "slow.test:1,other.test:1", before};
    zoo_set_debug_level(static_cast<ZooLogLevel>(0));  // so it begins with one
    names().hold_back("slow.test");
    names().wait_until_asked_for_what_is_held_back();
    const auto living = server();
    names().set("other.test", {living->address()});
    CHECK(lost->owner.wait_for_connection(long_enough));
    CHECK(living->sessions() == 1);
    lost.reset();
    names().release();
  }

  TEST_CASE("no more name servers are waited for at once than was said, and no name is asked while its answer is due") {
    detail::known_hosts hosts{{"1.slow.test:1", "2.slow.test:1", "3.slow.test:1", "known.test:1", "127.0.0.1:2"}};
    names().set("known.test", {nowhere});
    while (!names().asked().empty()) std::this_thread::yield();  // those of an earlier test
    names().hold_back("slow.test");
    const auto look_up = [&] {
      while (hosts.look_up_next()) continue;
    };
    std::vector<std::thread> threads;
    for (auto count = hosts.begin_round(2); count > 0; --count) threads.emplace_back(look_up);
    while (names().asked().size() < 2) std::this_thread::yield();
    CHECK(threads.size() == 2);
    CHECK(hosts.begin_round(2) == 0);
    for (auto count = hosts.begin_round(4); count > 0; --count) threads.emplace_back(look_up);
    CHECK(threads.size() == 4);
    while (names().asked().size() < 3) std::this_thread::yield();
    CHECK(names().asked() == std::vector<std::string>{"1.slow.test", "2.slow.test", "3.slow.test"});
    CHECK(hosts.wait_for_servers(1, {"127.0.0.1:2"}).list == nowhere);
    names().release();
    for (auto& each : threads) each.join();
  }

  TEST_CASE("a session whose name was slow to look up begins after that: its first lease is no shorter") {
    const auto living = server();
    names().set("slow.test", {living->address()});
    names().hold_back("slow.test");
    std::optional<client> owner;
    std::thread making{[&] { owner.emplace("slow.test:1", short_sessions()); }};
    names().wait_until_asked_for_what_is_held_back();
    const auto released = boottime_clock::now();
    names().release();
    making.join();
    REQUIRE(owner->wait_for_connection(long_enough));
    CHECK(owner->core()->monitor().run([&] { return owner->core()->session().opened_at(); }) >= released);
  }

  TEST_CASE("a server that moves to another port of its address, or to another address, keeps its clients' sessions") {
    for (const bool to_other_address : {false, true}) {
      CAPTURE(to_other_address);
      auto before = server();
      const auto port = before->port();
      names().set("zk.test", {before->address()});
      lost_client lost{"zk.test:1", before};
      const auto after = to_other_address ? server_at("127.0.0.2", port) : server();
      names().set("zk.test", {after->address()});
      CHECK(lost.is_back_in_its_session());
      CHECK(after->sessions() == 0);
    }
  }

  TEST_CASE("it may move again and again, and go back") {
    auto now = server();
    names().set("zk.test", {now->address()});
    client owner{"zk.test:1", short_sessions()};
    REQUIRE(owner.wait_for_connection(long_enough));
    const auto session = owner.session_id();
    for (unsigned i = 0; i < 6; ++i) {
      CAPTURE(i);
      auto next = server_at(i % 2 == 0 ? "127.0.0.2" : "127.0.0.1", i % 3 == 0 ? std::uint16_t{0} : now->port());
      now.reset();
      REQUIRE(disconnected(owner, i + 1));
      names().set("zk.test", {next->address()});
      now = std::move(next);
      REQUIRE(owner.wait_for_connection(long_enough));
      CHECK(owner.session_id() == session);
    }
  }

  TEST_CASE("two servers that trade their addresses are found") {
    auto first = server_at("127.0.0.1");
    const auto second_port = server_at("127.0.0.2")->port();
    names().set("first.test", {first->address()});
    names().set("second.test", {"127.0.0.2:" + std::to_string(second_port)});
    const auto first_port = first->port();
    lost_client lost{"first.test:1,second.test:1", first};
    const auto moved = server_at("127.0.0.2", first_port);
    names().set("first.test", {moved->address()});
    names().set("second.test", {"127.0.0.1:" + std::to_string(second_port)});
    CHECK(lost.is_back_in_its_session());
  }

  TEST_CASE("an address is kept while its name does not resolve") {
    auto kept = server();
    const auto port = kept->port();
    names().set("kept.test", {kept->address()});
    names().set("other.test", {nowhere});
    lost_client lost{"kept.test:1,other.test:1", kept};
    names().forget("kept.test");
    auto other = server();
    names().set("other.test", {other->address()});
    REQUIRE(lost.is_back_in_its_session());
    const auto again = server_at("127.0.0.1", port);
    other.reset();
    REQUIRE(disconnected(lost.owner, 2));
    CHECK(lost.is_back_in_its_session());
  }

  TEST_CASE("a name with thousands of addresses is used") {
    auto known = server();
    names().set("zk.test", {known->address()});
    lost_client lost{"zk.test:1", known};
    const auto everywhere = server_at("0.0.0.0");
    std::vector<std::string> addresses;
    for (int i = 1; i <= 3000; ++i) {
      addresses.push_back("127.1." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1) + ":" +
                          std::to_string(everywhere->port()));
    }
    names().set("zk.test", addresses);
    CHECK(lost.is_back_in_its_session());
  }

  TEST_CASE("a name with thousands of useless addresses hides no other for long") {
    detail::known_hosts hosts{{"many.test:1", "known.test:1"}};
    std::vector<std::string> addresses;
    for (int i = 0; i < 3000; ++i)
      addresses.push_back("127.2." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1) + ":1");
    names().set("many.test", addresses);
    names().set("known.test", {"127.0.0.1:2"});
    std::set<std::string> seen;
    for (int round = 1; round <= 3; ++round) {
      hosts.begin_round(1);
      while (hosts.look_up_next()) continue;
      const auto list = hosts.wait_for_servers(static_cast<std::uint64_t>(round), {}).list;
      CHECK(list.find("127.0.0.1:2") != std::string::npos);
      std::istringstream text{list};
      std::set<std::string> given;
      for (std::string each; std::getline(text, each, ',');) given.insert(each);
      CHECK(given.size() == detail::known_hosts::most_of_a_name + 1);
      seen.merge(given);
    }
    CHECK(seen.size() > detail::known_hosts::most_of_a_name * 3 / 2);  // others each time
  }

  TEST_CASE("when the C client does not say that an attempt has failed, a new session finds the servers") {
    auto before = server();
    names().set("zk.test", {before->address()});
    lost_client lost{"zk.test:1", before};
    zoo_set_debug_level(static_cast<ZooLogLevel>(0));
    const auto after = server();
    names().set("zk.test", {after->address()});
    CHECK(lost.owner.wait_for_connection(long_enough));
    CHECK(after->sessions() == 1);
  }
}

}  // namespace latchkey::testing
