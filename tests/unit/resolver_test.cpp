// SPDX-License-Identifier: Apache-2.0
#include "bridge/resolver.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace latchkey::detail;
using addresses = std::vector<std::string>;

TEST_SUITE_BEGIN("resolver");

TEST_CASE("numeric addresses stay what they are, without brackets") {
  std::string failure;
  CHECK(resolve({"127.0.0.1:2181", "[::1]:2182"}, failure) == addresses{"127.0.0.1:2181", "::1:2182"});
  CHECK(failure.empty());
}

TEST_CASE("only names need a name server") {
  CHECK(are_addresses({"127.0.0.1:2181", "[::1]:2182"}));
  CHECK_FALSE(are_addresses({"127.0.0.1:2181", "localhost:2181"}));
}

TEST_CASE("localhost resolves to addresses of the loopback") {
  std::string failure;
  const auto found = resolve({"localhost:2181"}, failure);
  CHECK(failure.empty());
  CHECK_FALSE(found.empty());
  for (const auto& each : found) CHECK((each == "127.0.0.1:2181" || each == "::1:2181"));
}

TEST_CASE("an address that several hosts have comes once") {
  std::string failure;
  CHECK(resolve({"127.0.0.1:2181", "127.0.0.1:2181", "127.0.0.1:2182"}, failure) ==
        addresses{"127.0.0.1:2181", "127.0.0.1:2182"});
}

TEST_CASE("hosts that do not resolve are left out and named") {
  std::string failure;
  CHECK(resolve({"no-such-host.invalid:2181", "127.0.0.1:2181"}, failure) == addresses{"127.0.0.1:2181"});
  CHECK(failure.starts_with("no-such-host.invalid:2181: "));
  CHECK(resolve({"a.invalid:1", "b.invalid:2"}, failure).empty());
  CHECK(failure.find("a.invalid:1: ") != std::string::npos);
  CHECK(failure.find("; b.invalid:2: ") != std::string::npos);
}

TEST_CASE("the server list has an odd number of addresses, all of them") {
  std::minstd_rand random{1};
  for (std::size_t count = 1; count <= 6; ++count) {
    addresses all;
    for (std::size_t i = 0; i < count; ++i) all.push_back("10.0.0." + std::to_string(i) + ":1");
    const auto list = to_server_list(all, random);
    CHECK(std::count(list.begin(), list.end(), ',') % 2 == 0);
    for (const auto& each : all) CHECK(list.find(each) != std::string::npos);
  }
}

TEST_CASE("the order of the servers is random") {
  std::minstd_rand random{1};
  const addresses three{"a:1", "b:1", "c:1"};
  std::vector<std::string> lists;
  for (int i = 0; i < 100; ++i) lists.push_back(to_server_list(three, random));
  std::sort(lists.begin(), lists.end());
  CHECK(std::unique(lists.begin(), lists.end()) - lists.begin() == 6);
}

TEST_SUITE_END();
